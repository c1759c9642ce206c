"""heartbeat, held, abandon: what a slot holds by the store's word."""

# A lease's token is no password.
# ruff: noqa: S106

import pytest

from queue_app.brokers.base import HOLDER_CLOSED_SECONDS, LEASE_SECONDS, Broker
from queue_app.core.answers import Beat, Held, Settled, Standing
from queue_app.core.errors import HolderClosed, LeaseLost
from queue_app.core.outcomes import Released, Spent, Succeeded
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    attempted,
    claim,
    claim_one,
    counts,
    fails,
    ids_of,
    listed,
    picture,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock


class HeartbeatContract(Contract):
    """running stays; the deadline moves."""

    def test_a_beat_moves_the_deadline_of_all_that_a_holder_holds(self, broker: Broker, clock: FakeClock) -> None:
        task_ids = seed(broker, 3)
        claim(broker, 3, lease_seconds=5.0)
        clock.advance(4)

        broker.heartbeat(QUEUE, ["w:1"], lease_seconds=7.0)

        assert [broker.get(task_id).at for task_id in task_ids] == [clock.now() + 7] * 3
        assert counts(broker) == {"running": 3}

    def test_a_beat_says_what_is_held_and_until_when(self, broker: Broker, clock: FakeClock) -> None:
        task_ids = seed(broker, 3)
        claim(broker, 2, holder="w:1", token="k1")
        claim(broker, 1, holder="w:2", token="k2")
        clock.advance(1)

        beat = broker.heartbeat(QUEUE, ["w:1", "w:2", "w:3"])

        assert beat == Beat(
            now=clock.now(),
            until=clock.now() + LEASE_SECONDS,
            held={"w:1": Held("k1", tuple(task_ids[:2])), "w:2": Held("k2", tuple(task_ids[2:]))},
        )

    def test_a_beat_for_nobody_is_answered(self, broker: Broker, clock: FakeClock) -> None:
        beat = broker.heartbeat(QUEUE, [])

        assert beat == Beat(now=clock.now(), until=clock.now() + LEASE_SECONDS, held={})

    def test_a_beat_keeps_a_task_from_the_reclaimer(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=5.0)
        clock.advance(4)
        broker.heartbeat(QUEUE, ["w:1"], lease_seconds=5.0)
        clock.advance(4)

        assert broker.reclaim(QUEUE, fails).count == 0
        assert counts(broker) == {"running": 1}

    def test_a_beat_that_comes_late_but_before_the_reclaimer_renews(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=5.0)
        clock.advance(60)

        beat = broker.heartbeat(QUEUE, ["w:1"])

        assert beat.held == {"w:1": Held(claimed.lease.token, (claimed.lease.task_id,))}
        assert broker.reclaim(QUEUE, fails).count == 0

    def test_a_beat_may_shorten_a_lease(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=60.0)

        broker.heartbeat(QUEUE, ["w:1"], lease_seconds=1.0)

        assert broker.get(claimed.lease.task_id).at == clock.now() + 1

    def test_a_beat_does_not_name_what_was_settled(self, broker: Broker) -> None:
        seed(broker, 3)
        claimed = claim(broker, 3, token="k1")
        broker.ack(claimed[0].lease)
        broker.release(claimed[2].lease)

        beat = broker.heartbeat(QUEUE, ["w:1"])

        assert beat.held == {"w:1": Held("k1", (claimed[1].lease.task_id,))}

    def test_a_beat_does_not_name_what_was_reclaimed(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)

        assert broker.heartbeat(QUEUE, ["w:1"]).held == {}
        assert counts(broker) == {"retrying": 1}

    def test_a_beat_cannot_renew_the_lease_of_another(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, lambda each: Released(lease=each.lease))
        claim_one(broker, holder="w:2", lease_seconds=5.0)

        beat = broker.heartbeat(QUEUE, ["w:1"], lease_seconds=60.0)

        assert beat.held == {}
        assert broker.get(claimed.lease.task_id).at == clock.now() + 5

    def test_a_beat_leaves_other_holders_alone(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, 2)
        claim_one(broker, holder="w:1")
        other = claim_one(broker, holder="w:2", lease_seconds=5.0)

        broker.heartbeat(QUEUE, ["w:1"], lease_seconds=60.0)

        assert broker.get(other.lease.task_id).at == clock.now() + 5

    def test_a_beat_is_for_one_queue(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker)
        other = running_one(broker, queue=OTHER_QUEUE, lease_seconds=5.0)

        beat = broker.heartbeat(QUEUE, ["w:1"], lease_seconds=60.0)

        assert beat.held["w:1"].task_ids != (other.lease.task_id,)
        assert broker.get(other.lease.task_id).at == clock.now() + 5

    def test_a_beat_names_what_somebody_asked_to_stop(self, broker: Broker) -> None:
        seed(broker, 3)
        first, second, _ = claim(broker, 3)
        broker.cancel(first.lease.task_id)
        broker.delete(second.lease.task_id)

        cancels = [broker.heartbeat(QUEUE, ["w:1"]).cancels for _ in range(2)]

        assert cancels == [{first.lease.task_id, second.lease.task_id}] * 2

    def test_a_beat_does_not_name_what_others_should_stop(self, broker: Broker) -> None:
        seed(broker, 2)
        claim_one(broker, holder="w:1")
        other = claim_one(broker, holder="w:2")
        broker.cancel(other.lease.task_id)

        assert broker.heartbeat(QUEUE, ["w:1"]).cancels == set()

    def test_a_beat_goes_on_while_the_queue_is_paused(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.pause(QUEUE)
        clock.advance(5)

        broker.heartbeat(QUEUE, ["w:1"])

        assert broker.get(claimed.lease.task_id).at == clock.now() + LEASE_SECONDS

    def test_a_beat_may_be_sent_again(self, broker: Broker) -> None:
        running_one(broker)

        assert broker.heartbeat(QUEUE, ["w:1"]) == broker.heartbeat(QUEUE, ["w:1"])


class HeldContract(Contract):
    """What a holder holds, with the bodies."""

    def test_what_is_held_is_told_with_leases_and_bodies(self, broker: Broker) -> None:
        seed(broker, 3)
        first = claim(broker, 2, holder="w:1", token="k1")
        second = claim(broker, 1, holder="w:2", token="k2")

        held = broker.held(QUEUE, ["w:1", "w:2"])

        assert held == {
            "w:1": (Held("k1", tuple(ids_of(first))), first),
            "w:2": (Held("k2", tuple(ids_of(second))), second),
        }

    def test_nothing_is_told_of_holders_that_hold_nothing(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease)

        assert broker.held(QUEUE, ["w:1", "unknown"]) == {}

    def test_only_what_is_left_of_a_batch_is_told(self, broker: Broker) -> None:
        seed(broker, 2)
        first, second = claim(broker, 2, token="k1")
        broker.ack(first.lease)

        assert broker.held(QUEUE, ["w:1"]) == {"w:1": (Held("k1", (second.lease.task_id,)), [second])}

    def test_to_ask_moves_no_deadline(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker)
        before = picture(broker)
        clock.advance(1)

        broker.held(QUEUE, ["w:1"])

        assert picture(broker) == before

    def test_what_is_held_in_another_queue_is_not_told(self, broker: Broker) -> None:
        running_one(broker, queue=OTHER_QUEUE)

        assert broker.held(QUEUE, ["w:1"]) == {}


class AbandonContract(Contract):
    """A holder that died."""

    def test_what_an_abandoned_holder_held_is_ready_at_the_head_uncounted(self, broker: Broker) -> None:
        task_ids = seed(broker, 5)
        claim(broker, 3)

        answer = broker.abandon(QUEUE, ["w:1"])

        assert (answer.standing, answer.claimed, answer.settled) == (Standing.CLOSED, [], {})
        assert listed(broker, State.READY) == task_ids
        assert [broker.get(task_id).task.attempts for task_id in task_ids] == [0] * 5
        assert counts(broker) == {"ready": 5}
        assert totals(broker) == {"enqueued": 5, "released": 3}

    def test_the_answer_tells_the_time(self, broker: Broker, clock: FakeClock) -> None:
        assert broker.abandon(QUEUE, ["w:1"]).now == clock.now()

    def test_outcomes_are_settled_before_the_rest_is_released(self, broker: Broker) -> None:
        seed(broker, 4)
        held = claim(broker, 4)
        outcomes = [Succeeded(lease=held[0].lease), Spent(lease=held[1].lease, body=attempted(held[1]))]

        answer = broker.abandon(QUEUE, ["w:1"], outcomes)

        assert answer.settled == {}
        assert counts(broker) == {"dead": 1, "ready": 2}
        assert totals(broker) == {"enqueued": 4, "succeeded": 1, "dead": 1, "released": 2}

    def test_a_success_of_any_priority_that_is_settled_so_leaves_nothing(self, broker: Broker) -> None:
        claimed = running_one(broker, priority=7)

        broker.abandon(QUEUE, ["w:1"], [Succeeded(lease=claimed.lease)])

        assert broker.find(claimed.lease.task_id) is None
        assert counts(broker) == {}

    def test_outcomes_that_are_refused_are_told(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease)

        answer = broker.abandon(QUEUE, ["w:1"], [Succeeded(lease=claimed.lease)])

        assert answer.settled == {claimed.lease.task_id: Settled.GONE}

    def test_the_queue_of_a_closed_name_is_known_so_that_somebody_sweeps_it(self, broker: Broker) -> None:
        broker.abandon(QUEUE, ["w:1"])

        assert broker.queues() == [QUEUE]

    def test_several_names_are_closed_in_one_step(self, broker: Broker) -> None:
        task_ids = seed(broker, 4)
        claim(broker, 2, holder="w:1")
        claim(broker, 2, holder="w:2")

        broker.abandon(QUEUE, ["w:1", "w:2", "never-heard-of"])

        assert listed(broker, State.READY) == task_ids
        for holder in ("w:1", "w:2", "never-heard-of"):
            with pytest.raises(HolderClosed, match=holder):
                broker.claim(QUEUE, holder=holder)

    def test_other_holders_keep_what_they_hold(self, broker: Broker) -> None:
        seed(broker, 2)
        claim_one(broker, holder="w:1")
        claim_one(broker, holder="w:2")

        broker.abandon(QUEUE, ["w:1"])

        assert list(broker.held(QUEUE, ["w:1", "w:2"])) == ["w:2"]
        assert counts(broker) == {"ready": 1, "running": 1}

    def test_an_exchange_of_theirs_that_arrives_later_settles_and_claims_nothing(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.abandon(QUEUE, ["w:1"])
        before = picture(broker)

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=[Succeeded(lease=claimed.lease)], want=1)

        assert answer.settled == {claimed.lease.task_id: Settled.LOST}
        assert (answer.standing, answer.claimed) == (Standing.CLOSED, [])
        assert picture(broker) == before

    def test_what_was_abandoned_and_claimed_anew_is_out_of_their_reach(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.abandon(QUEUE, ["w:1"])
        newer = claim_one(broker, holder="w:2")

        with pytest.raises(LeaseLost):
            broker.ack(claimed.lease)

        broker.ack(newer.lease)
        assert totals(broker) == {"enqueued": 1, "released": 1, "succeeded": 1}

    def test_to_abandon_twice_does_nothing_more(self, broker: Broker) -> None:
        seed(broker, 2)
        held = claim(broker, 2)
        outcomes = [Spent(lease=held[0].lease, body=attempted(held[0]))]
        broker.abandon(QUEUE, ["w:1"], outcomes)
        before = picture(broker)

        answer = broker.abandon(QUEUE, ["w:1"], outcomes)

        assert answer.settled == {held[0].lease.task_id: Settled.REPEATED}
        assert picture(broker) == before

    def test_what_should_have_stopped_ends_cancelled(self, broker: Broker) -> None:
        seed(broker, 3)
        first, second, third = claim(broker, 3)
        broker.cancel(first.lease.task_id)
        broker.delete(second.lease.task_id)

        broker.abandon(QUEUE, ["w:1"])

        assert counts(broker) == {"cancelled": 1, "ready": 1}
        assert broker.find(second.lease.task_id) is None
        assert broker.get(third.lease.task_id).state is State.READY
        assert totals(broker) == {"enqueued": 3, "cancelled": 2, "deleted": 1, "released": 1}

    def test_a_name_is_closed_in_its_queue_only(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)
        broker.abandon(QUEUE, ["w:1"])

        claim_one(broker, queue=OTHER_QUEUE, holder="w:1")

    def test_a_name_stays_closed_for_an_hour(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker)
        broker.abandon(QUEUE, ["w:1"])
        clock.advance(HOLDER_CLOSED_SECONDS - 0.25)
        broker.sweep(QUEUE)
        before = broker.exchange(QUEUE, holder="w:1", token="k1", want=1).standing
        clock.advance(0.25)
        broker.sweep(QUEUE)

        after = broker.exchange(QUEUE, holder="w:1", token="k1", want=1).standing

        assert (before, after) == (Standing.CLOSED, Standing.CLAIMED)
