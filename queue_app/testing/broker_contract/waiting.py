"""wait: sleep until there may be work. Waits here are short, and end early when all is well."""

# A lease's token is no password.
# ruff: noqa: S106

import threading
import time
from collections.abc import Callable

import pytest

from queue_app.brokers.base import Broker
from queue_app.core.outcomes import Released
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    attempted,
    cancelled_one,
    claim,
    claim_one,
    dead_one,
    retrying_one,
    running_one,
    seed,
)
from queue_app.testing.clock import FakeClock

LULL_SECONDS = 0.02
"""Long enough to see that nothing came: a marker that is there is taken at once."""


def is_rung(broker: Broker, queue: str = QUEUE) -> bool:
    """Whether a waiter is woken; takes the marker."""
    return broker.wait([queue], LULL_SECONDS) == queue


class WaitContract(Contract):
    """Who wakes whom."""

    def calm(self, broker: Broker, queue: str = QUEUE) -> None:
        """Take what marker there is."""
        broker.wait([queue], LULL_SECONDS)

    def test_a_wait_ends_after_its_time(self, broker: Broker) -> None:
        began = time.monotonic()

        woken_by = broker.wait([QUEUE], 0.1)

        assert woken_by is None
        assert 0.05 <= time.monotonic() - began < 5

    def test_an_enqueue_wakes_the_waiter_of_its_queue(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)

        assert broker.wait([QUEUE, OTHER_QUEUE], LULL_SECONDS) == OTHER_QUEUE

    def test_a_waiter_is_woken_while_it_sleeps(self, broker: Broker) -> None:
        threading.Timer(0.05, lambda: seed(broker)).start()
        began = time.monotonic()

        woken_by = broker.wait([QUEUE], 5.0)

        assert woken_by == QUEUE
        assert time.monotonic() - began < 4

    def test_a_queue_that_nobody_named_wakes_nobody(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)

        assert broker.wait([QUEUE], LULL_SECONDS) is None

    def test_one_ring_wakes_one_waiter(self, broker: Broker) -> None:
        seed(broker)

        assert [is_rung(broker), is_rung(broker)] == [True, False]

    def test_a_ring_of_no_task_wakes_one_waiter_too(self, broker: Broker) -> None:
        broker.ring(QUEUE)

        assert is_rung(broker)
        assert not is_rung(broker)

    def test_many_rings_leave_one_marker(self, broker: Broker) -> None:
        for _ in range(3):
            seed(broker)

        assert [is_rung(broker), is_rung(broker)] == [True, False]

    def test_the_first_of_the_named_queues_that_was_rung_is_told(self, broker: Broker) -> None:
        seed(broker, queue="a")
        seed(broker, queue="b")

        assert [broker.wait(["b", "a"], LULL_SECONDS) for _ in range(3)] == ["b", "a", None]

    def test_a_claim_that_leaves_work_behind_wakes_the_next(self, broker: Broker) -> None:
        seed(broker, 3)
        self.calm(broker)

        claim(broker, 2)
        first = is_rung(broker)
        claim(broker, 1)

        assert (first, is_rung(broker)) == (True, False)

    @pytest.mark.parametrize("priority", [5, -5])
    def test_a_claim_that_leaves_work_with_a_priority_behind_wakes_the_next(
        self, broker: Broker, priority: int
    ) -> None:
        seed(broker, 2, priority=priority)
        self.calm(broker)

        claim_one(broker)

        assert is_rung(broker)

    def test_a_task_for_later_wakes_a_waiter_only_when_it_is_due_earlier_than_all_others(self, broker: Broker) -> None:
        rung = []
        for due_in in (60, 90, 60, 30):
            seed(broker, due_in=due_in)
            rung.append(is_rung(broker))

        assert rung == [True, False, False, True]

    def test_a_retry_or_a_snooze_wakes_a_waiter_only_when_it_is_due_earlier_than_all_others(
        self, broker: Broker
    ) -> None:
        seed(broker, due_in=60)
        seed(broker, 4)
        held = claim(broker, 4)
        self.calm(broker)
        rung = []

        for claimed, seconds in zip(held, (90.0, 30.0, 60.0, 10.0), strict=True):
            if seconds in (90.0, 30.0):
                broker.retry(claimed.lease, attempted(claimed), delay_seconds=seconds)
            else:
                broker.snooze(claimed.lease, delay_seconds=seconds)
            rung.append(is_rung(broker))

        assert rung == [False, True, False, True]

    def test_a_promotion_wakes(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=1)
        self.calm(broker)
        clock.advance(1)

        broker.promote(QUEUE)

        assert is_rung(broker)

    def test_a_promotion_of_nothing_wakes_nobody(self, broker: Broker) -> None:
        seed(broker, due_in=1)
        self.calm(broker)

        broker.promote(QUEUE)

        assert not is_rung(broker)

    def test_a_release_wakes(self, broker: Broker) -> None:
        claimed = running_one(broker)
        self.calm(broker)

        broker.release(claimed.lease)

        assert is_rung(broker)

    def test_an_abandoned_holder_wakes_when_it_held_something(self, broker: Broker) -> None:
        running_one(broker)
        self.calm(broker)

        broker.abandon(QUEUE, ["nobody"])
        first = is_rung(broker)
        broker.abandon(QUEUE, ["w:1"])

        assert (first, is_rung(broker)) == (False, True)

    def test_a_reclaim_wakes_when_something_is_ready_or_due_earlier(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        self.calm(broker)
        clock.advance(1)

        broker.reclaim(QUEUE, lambda claimed: Released(lease=claimed.lease))

        assert is_rung(broker)

    @pytest.mark.parametrize("make", [dead_one, cancelled_one])
    def test_a_revival_wakes(self, broker: Broker, make: Callable[[Broker], str]) -> None:
        task_id = make(broker)
        self.calm(broker)

        broker.revive(task_id)

        assert is_rung(broker)

    def test_what_a_person_promotes_wakes(self, broker: Broker) -> None:
        task_id = retrying_one(broker)
        self.calm(broker)

        broker.promote_now(task_id)

        assert is_rung(broker)

    def test_an_ack_wakes_nobody(self, broker: Broker) -> None:
        claimed = running_one(broker)
        self.calm(broker)

        broker.ack(claimed.lease)

        assert not is_rung(broker)

    def test_a_claim_that_is_refused_by_a_pause_takes_the_marker(self, broker: Broker) -> None:
        seed(broker)
        broker.pause(QUEUE)

        broker.exchange(QUEUE, holder="w:1", token="k1", want=1)

        assert not is_rung(broker)

    def test_resume_wakes(self, broker: Broker) -> None:
        seed(broker)
        broker.pause(QUEUE)
        self.calm(broker)

        broker.resume(QUEUE)

        assert is_rung(broker)

    def test_to_resume_everything_wakes_every_queue(self, broker: Broker) -> None:
        for queue in (QUEUE, OTHER_QUEUE):
            seed(broker, queue=queue)
            self.calm(broker, queue)
        broker.pause()

        broker.resume()

        assert (is_rung(broker, QUEUE), is_rung(broker, OTHER_QUEUE)) == (True, True)
