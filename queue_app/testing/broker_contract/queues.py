"""pause, resume, purge: what people do to a whole queue."""

# A lease's token is no password.
# ruff: noqa: S106

from collections.abc import Iterable

import pytest

from queue_app.brokers.base import Broker
from queue_app.core.answers import Standing
from queue_app.core.errors import InvalidName
from queue_app.core.outcomes import Released
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    cancelled_one,
    claim,
    claim_one,
    counts,
    dead_one,
    ids_of,
    kept_one,
    listed,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock


class PauseContract(Contract):
    """Claims stop; nothing else does."""

    def test_a_paused_queue_gives_nothing_out(self, broker: Broker) -> None:
        seed(broker, 2)

        broker.pause(QUEUE)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=2)
        assert (answer.standing, answer.claimed) == (Standing.PAUSED, [])
        assert counts(broker) == {"ready": 2}
        assert totals(broker) == {"enqueued": 2}

    def test_other_queues_go_on_while_one_is_paused(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)

        broker.pause(QUEUE)

        claim_one(broker, queue=OTHER_QUEUE)

    def test_when_everything_is_paused_no_queue_gives_anything_out(self, broker: Broker) -> None:
        seed(broker)
        seed(broker, queue=OTHER_QUEUE)

        broker.pause()

        for queue in (QUEUE, OTHER_QUEUE):
            assert broker.exchange(queue, holder="w:1", token="k1", want=1).standing is Standing.PAUSED

    def test_a_queue_that_is_made_while_everything_is_paused_is_paused_too(self, broker: Broker) -> None:
        seed(broker)
        broker.pause()
        seed(broker, queue=OTHER_QUEUE)

        assert broker.exchange(OTHER_QUEUE, holder="w:1", token="k1", want=1).standing is Standing.PAUSED
        assert broker.stats(OTHER_QUEUE).paused_by_all

    def test_enqueue_settle_and_heartbeat_go_on_while_paused(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.pause(QUEUE)
        broker.pause()

        seed(broker)
        beat = broker.heartbeat(QUEUE, ["w:1"])
        broker.ack(claimed.lease)

        assert beat.held["w:1"].task_ids == (claimed.lease.task_id,)
        assert counts(broker) == {"ready": 1}
        assert totals(broker) == {"enqueued": 2, "succeeded": 1}

    def test_an_exchange_of_a_paused_queue_still_settles(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.pause(QUEUE)

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=[Released(lease=claimed.lease)], want=1)

        assert answer.standing is Standing.PAUSED
        assert counts(broker) == {"ready": 1}

    def test_statistics_say_which_pause_it_is(self, broker: Broker) -> None:
        seed(broker)
        flags = []

        def look() -> None:
            stats = broker.stats(QUEUE)
            flags.append((stats.paused, stats.paused_by_all))

        look()
        broker.pause(QUEUE)
        look()
        broker.pause()
        look()
        broker.resume(QUEUE)
        look()

        assert flags == [(False, False), (True, False), (True, True), (False, True)]

    def test_resume_lets_claims_through_in_the_old_order(self, broker: Broker) -> None:
        task_ids = seed(broker, 3)
        broker.pause(QUEUE)
        broker.claim(QUEUE, holder="w:1", limit=3)

        broker.resume(QUEUE)

        assert ids_of(claim(broker, 3)) == task_ids

    def test_a_queue_paused_by_name_stays_so_when_everything_is_resumed(self, broker: Broker) -> None:
        seed(broker)
        seed(broker, queue=OTHER_QUEUE)
        broker.pause(QUEUE)
        broker.pause()

        broker.resume()

        assert broker.claim(QUEUE, holder="w:1") == []
        claim_one(broker, queue=OTHER_QUEUE)
        assert not broker.stats(QUEUE).paused_by_all

    def test_to_resume_one_queue_does_not_undo_the_pause_of_all(self, broker: Broker) -> None:
        seed(broker)
        broker.pause()

        broker.resume(QUEUE)

        assert broker.claim(QUEUE, holder="w:1") == []

    def test_to_pause_or_resume_twice_is_as_good_as_once(self, broker: Broker) -> None:
        seed(broker)
        for verb in (broker.pause, broker.resume):
            for _ in range(2):
                verb(QUEUE)
                verb()

        claim_one(broker)

    def test_a_queue_may_be_paused_before_its_first_task(self, broker: Broker) -> None:
        broker.pause(QUEUE)
        seed(broker)

        assert broker.claim(QUEUE, holder="w:1") == []
        assert broker.queues() == [QUEUE]

    @pytest.mark.parametrize("verb", ["pause", "resume"])
    def test_a_name_that_no_queue_can_have_is_refused(self, broker: Broker, verb: str) -> None:
        with pytest.raises(InvalidName, match="queue name"):
            getattr(broker, verb)("no spaces")

        assert broker.queues() == []


class PurgeContract(Contract):
    """Drop what waits."""

    def one_of_each(self, broker: Broker) -> dict[str, str]:
        return {
            "retrying": retrying_one(broker),
            "dead": dead_one(broker),
            "cancelled": cancelled_one(broker),
            "succeeded": kept_one(broker),
            "running": running_one(broker).lease.task_id,
            "scheduled": seed(broker, due_in=60)[0],
            "ready": seed(broker)[0],
        }

    def test_a_purge_drops_every_ready_task_and_counts_it(self, broker: Broker) -> None:
        task_ids = [seed(broker, priority=priority)[0] for priority in (0, 5, -5, 0)]

        dropped = broker.purge(QUEUE)

        assert dropped == 4
        assert [broker.find(task_id) for task_id in task_ids] == [None] * 4
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 4, "purged": 4}

    @pytest.mark.parametrize(
        "include",
        [
            (),
            (State.READY,),
            (State.SCHEDULED,),
            (State.RETRYING,),
            (State.SCHEDULED, State.RETRYING),
            (State.READY, State.SCHEDULED, State.RETRYING),
        ],
        ids=lambda states: "+".join(states) or "nothing",
    )
    def test_a_purge_takes_only_ready_tasks_and_what_is_named(self, broker: Broker, include: Iterable[State]) -> None:
        by_state = self.one_of_each(broker)

        dropped = broker.purge(QUEUE, include=include)

        gone = {"ready", *include}
        assert dropped == len(gone)
        assert counts(broker) == {state: 1 for state in by_state if state not in gone}
        assert {state for state, task_id in by_state.items() if broker.find(task_id) is None} == gone

    @pytest.mark.parametrize("state", [State.RUNNING, State.SUCCEEDED, State.DEAD, State.CANCELLED, "unknown"])
    def test_a_purge_of_a_state_that_does_not_wait_is_refused(self, broker: Broker, state: State) -> None:
        self.one_of_each(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match=state):
            broker.purge(QUEUE, include=[State.SCHEDULED, state])

        assert picture(broker) == before

    def test_a_purge_lets_running_tasks_go_on(self, broker: Broker) -> None:
        seed(broker, 3)
        claimed = claim_one(broker)

        broker.purge(QUEUE)

        assert broker.ack(claimed.lease) == "done"
        assert totals(broker) == {"enqueued": 3, "purged": 2, "succeeded": 1}

    def test_what_is_enqueued_after_a_purge_stays(self, broker: Broker) -> None:
        seed(broker, 3)
        broker.purge(QUEUE)

        task_ids = seed(broker, 2)

        assert ids_of(claim(broker, 2)) == task_ids

    def test_a_purged_id_may_come_again(self, broker: Broker) -> None:
        seed(broker, id="t1", priority=5)
        seed(broker, id="t2")
        broker.purge(QUEUE)

        seed(broker, id="t1")
        seed(broker, id="t2", priority=7)

        assert ids_of(claim(broker, 2)) == ["t2", "t1"]

    def test_a_purge_does_not_count_cancelled_tasks(self, broker: Broker) -> None:
        first, _, third = seed(broker, 3)
        broker.cancel(first)
        broker.delete(third)

        assert broker.purge(QUEUE) == 1
        assert counts(broker) == {"cancelled": 1}

    def test_an_empty_queue_has_nothing_to_purge(self, broker: Broker) -> None:
        assert broker.purge(QUEUE) == 0
        assert totals(broker) == {}

    def test_to_purge_twice_drops_nothing_more(self, broker: Broker) -> None:
        seed(broker, 2)

        assert [broker.purge(QUEUE), broker.purge(QUEUE)] == [2, 0]

    def test_a_purge_touches_its_queue_only(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)
        seed(broker)

        broker.purge(QUEUE)

        assert (counts(broker), counts(broker, OTHER_QUEUE)) == ({}, {"ready": 1})

    def test_a_purge_of_more_than_a_slice_is_one_call(self, broker: Broker) -> None:
        seed(broker, 1_001)
        seed(broker, 1_001, due_in=60)

        assert broker.purge(QUEUE, include=[State.SCHEDULED]) == 2_002
        assert counts(broker) == {}

    def test_a_paused_queue_may_be_purged(self, broker: Broker) -> None:
        seed(broker)
        broker.pause(QUEUE)

        assert broker.purge(QUEUE) == 1

    def test_what_a_purge_left_is_promoted_as_before(self, broker: Broker, clock: FakeClock) -> None:
        retrying = retrying_one(broker, delay_seconds=1.0)
        (scheduled,) = seed(broker, due_in=2)

        broker.purge(QUEUE, include=[State.READY])
        clock.advance(2)
        broker.promote(QUEUE)

        assert listed(broker, State.READY) == [retrying, scheduled]
