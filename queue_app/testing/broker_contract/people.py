"""cancel, delete, revive, promote_now: what people do to one task."""

from collections.abc import Callable

import pytest

from queue_app.brokers.base import Broker
from queue_app.core import codec
from queue_app.core.answers import Asked, Settled
from queue_app.core.errors import LeaseLost, TaskGone, WrongState
from queue_app.core.outcomes import Cancelled, Succeeded
from queue_app.core.retention import Retention
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    QUEUE,
    Contract,
    attempted,
    cancelled_one,
    claim,
    claim_one,
    counts,
    dead_one,
    ids_of,
    kept_one,
    listed,
    new_task,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.broker_contract.settling import OUTCOMES, outcome
from queue_app.testing.clock import FakeClock

DAY = 86_400.0


class CancelContract(Contract):
    """Waiting → cancelled; running: asked for."""

    def test_cancel_takes_a_ready_task_at_once(self, broker: Broker, clock: FakeClock) -> None:
        (task_id,) = seed(broker)
        clock.advance(1)

        answer = broker.cancel(task_id)

        found = broker.get(task_id)
        assert answer is Asked.DONE
        assert (found.state, found.at, found.task.attempts) == (State.CANCELLED, clock.now(), 0)
        assert counts(broker) == {"cancelled": 1}
        assert totals(broker) == {"enqueued": 1, "cancelled": 1}

    @pytest.mark.parametrize("priority", [5, -5])
    def test_cancel_takes_a_ready_task_of_any_priority(self, broker: Broker, priority: int) -> None:
        (task_id,) = seed(broker, priority=priority)

        assert broker.cancel(task_id) is Asked.DONE
        assert counts(broker) == {"cancelled": 1}
        assert broker.claim(QUEUE, holder="w:1") == []

    def test_cancel_takes_a_scheduled_task_at_once(self, broker: Broker, clock: FakeClock) -> None:
        (task_id,) = seed(broker, due_in=5)

        answer = broker.cancel(task_id)
        clock.advance(5)

        assert answer is Asked.DONE
        assert broker.promote(QUEUE).count == 0
        assert counts(broker) == {"cancelled": 1}

    def test_cancel_takes_a_task_that_failed_at_once(self, broker: Broker) -> None:
        task_id = retrying_one(broker)

        assert broker.cancel(task_id) is Asked.DONE
        assert broker.get(task_id).task.attempts == 1
        assert counts(broker) == {"cancelled": 1}

    def test_cancel_asks_a_running_task_to_stop_and_it_goes_on(self, broker: Broker) -> None:
        claimed = running_one(broker)

        answers = [broker.cancel(claimed.lease.task_id) for _ in range(2)]

        assert answers == [Asked.REQUESTED] * 2
        assert broker.get(claimed.lease.task_id).cancel_requested
        assert counts(broker) == {"running": 1}
        assert totals(broker) == {"enqueued": 1}

    @pytest.mark.parametrize("kind", ["retry", "snooze", "dead", "release"])
    def test_a_task_that_was_asked_to_stop_ends_cancelled_whatever_but_success_its_runner_says(
        self, broker: Broker, kind: str
    ) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)

        word = broker.settle(outcome(kind, claimed))

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.CANCELLED
        assert (found.state, found.cancel_requested) == (State.CANCELLED, False)
        assert found.task.attempts == (0 if kind in ("snooze", "release") else 1)
        assert counts(broker) == {"cancelled": 1}
        assert totals(broker) == {"enqueued": 1, "cancelled": 1}

    def test_a_runner_that_stops_because_it_was_asked_has_simply_settled(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)

        word = broker.settle(Cancelled(lease=claimed.lease, body=attempted(claimed)))

        assert word is Settled.DONE
        assert counts(broker) == {"cancelled": 1}
        assert totals(broker) == {"enqueued": 1, "cancelled": 1}

    def test_success_comes_before_the_wish_to_cancel(self, broker: Broker) -> None:
        seed(broker, 2)
        first, second = claim(broker, 2)
        broker.cancel(first.lease.task_id)
        broker.cancel(second.lease.task_id)

        words = [broker.ack(first.lease), broker.ack(second.lease, keep_seconds=60.0, result=b"42")]

        assert words == [Settled.DONE] * 2
        assert counts(broker) == {"succeeded": 1}
        assert totals(broker) == {"enqueued": 2, "succeeded": 2}

    def test_a_wish_ends_with_the_attempt(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)
        broker.release(claimed.lease)
        broker.revive(claimed.lease.task_id)
        claim_one(broker, holder="w:2")

        assert not broker.get(claimed.lease.task_id).cancel_requested
        assert broker.heartbeat(QUEUE, ["w:2"]).cancels == set()

    def test_a_wish_ends_also_with_a_task_that_comes_again(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)
        broker.ack(claimed.lease)
        broker.enqueue(claimed.task)
        claim_one(broker, holder="w:2")

        assert broker.heartbeat(QUEUE, ["w:2"]).cancels == set()

    @pytest.mark.parametrize("finish", [cancelled_one, dead_one, kept_one])
    def test_cancel_of_a_finished_task_is_refused(self, broker: Broker, finish: Callable[[Broker], str]) -> None:
        task_id = finish(broker)
        before = picture(broker)

        with pytest.raises(WrongState, match=task_id) as caught:
            broker.cancel(task_id)

        assert caught.value.state == broker.get(task_id).state
        assert picture(broker) == before

    def test_cancel_of_an_unknown_task_is_refused(self, broker: Broker) -> None:
        seed(broker)

        with pytest.raises(TaskGone, match="unknown"):
            broker.cancel("unknown")

    def test_cancel_of_a_task_past_retention_is_refused(self, broker: Broker, clock: FakeClock) -> None:
        task_id = kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        with pytest.raises(TaskGone):
            broker.cancel(task_id)

    def test_cancel_leaves_the_neighbours_in_the_line_alone(self, broker: Broker) -> None:
        task_ids = seed(broker, 5)
        broker.cancel(task_ids[0])
        broker.cancel(task_ids[3])

        assert listed(broker, State.READY) == [task_ids[1], task_ids[2], task_ids[4]]
        assert counts(broker) == {"ready": 3, "cancelled": 2}


class DeleteContract(Contract):
    """Any state → gone; running: cancelled first."""

    @pytest.mark.parametrize("priority", [0, 5, -5])
    def test_delete_drops_a_ready_task_at_once(self, broker: Broker, priority: int) -> None:
        (task_id,) = seed(broker, priority=priority)

        answer = broker.delete(task_id)

        assert answer is Asked.DONE
        assert broker.find(task_id) is None
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 1, "deleted": 1}

    def test_delete_drops_a_scheduled_task_at_once(self, broker: Broker, clock: FakeClock) -> None:
        (task_id,) = seed(broker, due_in=5)

        answer = broker.delete(task_id)
        clock.advance(5)

        assert answer is Asked.DONE
        assert broker.promote(QUEUE).count == 0
        assert counts(broker) == {}

    @pytest.mark.parametrize("make", [retrying_one, dead_one, cancelled_one, kept_one])
    def test_delete_drops_one_that_failed_or_is_finished_at_once(
        self, broker: Broker, make: Callable[[Broker], str]
    ) -> None:
        task_id = make(broker)
        counted = totals(broker)

        answer = broker.delete(task_id)

        assert answer is Asked.DONE
        assert broker.find(task_id) is None
        assert counts(broker) == {}
        assert totals(broker) == counted | {"deleted": 1}

    def test_delete_asks_a_running_task_to_stop_and_it_goes_on(self, broker: Broker) -> None:
        claimed = running_one(broker)

        answer = broker.delete(claimed.lease.task_id)

        assert answer is Asked.REQUESTED
        assert broker.get(claimed.lease.task_id).cancel_requested
        assert counts(broker) == {"running": 1}

    @pytest.mark.parametrize("kind", ["retry", "snooze", "dead", "release", "cancel"])
    def test_a_task_that_was_to_be_deleted_is_cancelled_and_gone_whatever_but_success_its_runner_says(
        self, broker: Broker, kind: str
    ) -> None:
        claimed = running_one(broker)
        broker.delete(claimed.lease.task_id)

        word = broker.settle(outcome(kind, claimed))

        assert word is (Settled.DONE if kind == "cancel" else Settled.CANCELLED)
        assert broker.find(claimed.lease.task_id) is None
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 1, "cancelled": 1, "deleted": 1}

    @pytest.mark.parametrize("kind", ["ack", "keep"])
    def test_a_task_that_was_to_be_deleted_and_succeeds_first_is_gone_too(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        broker.delete(claimed.lease.task_id)

        word = broker.settle(outcome(kind, claimed))

        assert word is Settled.DONE
        assert broker.find(claimed.lease.task_id) is None
        assert totals(broker) == {"enqueued": 1, "succeeded": 1}

    def test_a_wish_to_cancel_does_not_take_back_a_wish_to_delete(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.delete(claimed.lease.task_id)
        broker.cancel(claimed.lease.task_id)

        broker.release(claimed.lease)

        assert counts(broker) == {}

    def test_a_wish_to_delete_goes_further_than_one_to_cancel(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)
        broker.delete(claimed.lease.task_id)

        broker.release(claimed.lease)

        assert counts(broker) == {}

    def test_delete_of_an_unknown_task_is_refused(self, broker: Broker) -> None:
        with pytest.raises(TaskGone, match="unknown"):
            broker.delete("unknown")

    def test_to_delete_twice_is_told(self, broker: Broker) -> None:
        (task_id,) = seed(broker)
        broker.delete(task_id)

        with pytest.raises(TaskGone):
            broker.delete(task_id)

        assert totals(broker) == {"enqueued": 1, "deleted": 1}

    def test_delete_of_a_task_past_retention_is_refused(self, broker: Broker, clock: FakeClock) -> None:
        task_id = kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        with pytest.raises(TaskGone):
            broker.delete(task_id)

    @pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0), (5, -5), (0, 0)])
    def test_an_id_that_comes_again_is_claimed_once_by_its_new_priority(
        self, broker: Broker, first: int, second: int
    ) -> None:
        seed(broker, 1, priority=1)
        seed(broker, id="t1", priority=first)
        broker.delete("t1")

        seed(broker, id="t1", priority=second)

        expected_place = 0 if second > 1 else 1
        claimed = ids_of(claim(broker, 2))
        assert claimed.index("t1") == expected_place
        assert broker.claim(QUEUE, holder="w:2") == []

    def test_an_id_that_comes_again_for_later_is_not_claimed_before(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, id="t1")
        broker.delete("t1")
        seed(broker, id="t1", due_in=5)

        early = broker.claim(QUEUE, holder="w:1")
        clock.advance(5)
        broker.promote(QUEUE)

        assert early == []
        assert ids_of(broker.claim(QUEUE, holder="w:1", limit=5)) == ["t1"]


class ReviveContract(Contract):
    """dead, cancelled → ready with attempts reset and errors kept."""

    def test_a_dead_task_gets_a_new_budget_and_keeps_its_history(self, broker: Broker) -> None:
        claimed = running_one(broker)
        error = {"attempt": 1, "type": "Oops", "message": "no", "at": 1.0}
        body = codec.amend(attempted(claimed), errors=[error], unknown_to_us=[1])
        broker.dead_letter(claimed.lease, body)

        broker.revive(claimed.lease.task_id)

        found = broker.get(claimed.lease.task_id)
        assert (found.state, found.at) == (State.READY, None)
        assert (found.task.attempts, found.task.revived, found.task.errors[0].type) == (0, 1, "Oops")
        assert b'"unknown_to_us":[1]' in found.body
        assert counts(broker) == {"ready": 1}
        assert totals(broker) == {"enqueued": 1, "dead": 1}

    def test_a_cancelled_task_is_ready_and_no_longer_says_why(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.settle(Cancelled(lease=claimed.lease, body=codec.amend(claimed.body, cancel_reason="a person")))

        broker.revive(claimed.lease.task_id)

        assert broker.get(claimed.lease.task_id).task.cancel_reason == ""
        assert counts(broker) == {"ready": 1}

    def test_a_task_may_be_revived_again_and_again(self, broker: Broker) -> None:
        task_id = dead_one(broker)
        for _ in range(2):
            broker.revive(task_id)
            claimed = claim_one(broker)
            broker.dead_letter(claimed.lease, attempted(claimed))

        broker.revive(task_id)

        assert broker.get(task_id).task.revived == 3

    def test_the_revived_go_to_the_tail_of_their_priority(self, broker: Broker) -> None:
        dead = [dead_one(broker, priority=priority) for priority in (5, 0, -5)]
        standing = [seed(broker, priority=priority)[0] for priority in (5, 0, -5)]

        for task_id in reversed(dead):
            broker.revive(task_id)

        assert listed(broker, State.READY) == [standing[0], dead[0], standing[1], dead[1], standing[2], dead[2]]

    def test_a_task_that_was_cancelled_in_the_line_is_claimed_once(self, broker: Broker) -> None:
        task_ids = seed(broker, 3)
        for _ in range(2):
            broker.cancel(task_ids[1])
            broker.revive(task_ids[1])

        # Where it stands is left open: at its old place, or at the tail.
        assert sorted(ids_of(claim(broker, 3))) == sorted(task_ids)
        assert broker.claim(QUEUE, holder="w:2") == []

    def test_a_body_that_cannot_be_read_is_revived_as_it_is(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, b"no json")

        broker.revive(claimed.lease.task_id)

        assert claim_one(broker).body == b"no json"

    def test_revive_of_a_waiting_running_or_succeeded_task_is_refused(self, broker: Broker) -> None:
        refused = [
            retrying_one(broker),
            kept_one(broker),
            running_one(broker).lease.task_id,
            *seed(broker, due_in=5),
            *seed(broker),
        ]
        before = picture(broker)

        for task_id in refused:
            with pytest.raises(WrongState, match=task_id) as caught:
                broker.revive(task_id)
            assert caught.value.state == broker.get(task_id).state

        assert picture(broker) == before

    def test_revive_of_an_unknown_task_is_refused(self, broker: Broker) -> None:
        with pytest.raises(TaskGone, match="unknown"):
            broker.revive("unknown")

    @pytest.mark.parametrize("retention", [Retention(cancelled_seconds=60.0)], ids=["cancelled for 60 s"])
    def test_revive_of_a_task_past_retention_is_refused(self, broker: Broker, clock: FakeClock) -> None:
        task_id = cancelled_one(broker)
        clock.advance(60)

        with pytest.raises(TaskGone):
            broker.revive(task_id)

        assert counts(broker) == {}

    def test_an_outcome_of_before_cannot_touch_a_revived_task(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, attempted(claimed))
        broker.revive(claimed.lease.task_id)
        before = picture(broker)

        for kind in OUTCOMES:
            with pytest.raises(LeaseLost):
                broker.settle(outcome(kind, claimed))

        assert picture(broker) == before


class PromoteNowContract(Contract):
    """scheduled, retrying → ready, before their time."""

    def test_promote_now_makes_a_scheduled_task_ready(self, broker: Broker) -> None:
        (task_id,) = seed(broker, due_in=60)

        broker.promote_now(task_id)

        assert broker.get(task_id).at is None
        assert counts(broker) == {"ready": 1}
        assert totals(broker) == {"enqueued": 1}

    def test_promote_now_makes_a_task_that_failed_ready(self, broker: Broker) -> None:
        task_id = retrying_one(broker)

        broker.promote_now(task_id)

        assert broker.get(task_id).task.attempts == 1
        assert counts(broker) == {"ready": 1}

    def test_promote_now_goes_to_the_tail_of_its_priority(self, broker: Broker) -> None:
        (task_id,) = seed(broker, due_in=60, priority=5)
        (plain,) = seed(broker)
        (first,) = seed(broker, priority=5)

        broker.promote_now(task_id)

        assert listed(broker, State.READY) == [first, task_id, plain]

    def test_promote_now_of_a_task_in_any_other_state_is_refused(self, broker: Broker) -> None:
        refused = [
            kept_one(broker),
            dead_one(broker),
            cancelled_one(broker),
            running_one(broker).lease.task_id,
            *seed(broker),
        ]
        before = picture(broker)

        for task_id in refused:
            with pytest.raises(WrongState, match=task_id) as caught:
                broker.promote_now(task_id)
            assert caught.value.state == broker.get(task_id).state

        assert picture(broker) == before

    def test_promote_now_of_an_unknown_task_is_refused(self, broker: Broker) -> None:
        with pytest.raises(TaskGone, match="unknown"):
            broker.promote_now("unknown")

    def test_promote_now_of_a_task_past_retention_is_refused(self, broker: Broker, clock: FakeClock) -> None:
        task_id = kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        with pytest.raises(TaskGone):
            broker.promote_now(task_id)


class LookContract(Contract):
    """find and get."""

    def test_an_unknown_task_is_not_found(self, broker: Broker) -> None:
        seed(broker)

        assert broker.find("unknown") is None
        with pytest.raises(TaskGone, match="unknown"):
            broker.get("unknown")

    def test_a_task_is_found_in_whatever_queue_it_is(self, broker: Broker) -> None:
        task_ids = {queue: seed(broker, queue=queue)[0] for queue in ("a", "b", "c")}

        assert {broker.get(task_id).queue: task_id for task_id in task_ids.values()} == task_ids

    def test_the_time_of_a_snapshot_is_told_by_state(self, broker: Broker, clock: FakeClock) -> None:
        start = clock.now()
        retrying = retrying_one(broker, delay_seconds=3.0)
        dead, cancelled, kept = dead_one(broker), cancelled_one(broker), kept_one(broker)
        running = running_one(broker, lease_seconds=2.0).lease.task_id
        (scheduled,) = seed(broker, due_in=1)
        (ready,) = seed(broker)
        clock.advance(0.5)

        times = [broker.get(each).at for each in (ready, scheduled, running, retrying, dead, cancelled, kept)]

        assert times == [None, start + 1, start + 2, start + 3, start, start, start]

    def test_a_result_is_found_only_where_one_is_kept(self, broker: Broker) -> None:
        kept = kept_one(broker, result=b"42")
        dead = dead_one(broker)

        assert (broker.get(kept).result, broker.get(dead).result) == (b"42", None)

    def test_a_body_that_cannot_be_read_is_found_with_what_is_wrong(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, b"no json")
        good = dead_one(broker)

        assert "JSON" in broker.get(claimed.lease.task_id).problem
        assert broker.get(good).problem == ""

    def test_a_record_past_retention_is_not_found(self, broker: Broker, clock: FakeClock) -> None:
        task_id = kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        assert broker.find(task_id) is None

    def test_a_success_that_was_not_kept_leaves_only_a_line_of_the_recent_list(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.settle(Succeeded(lease=claimed.lease, note=b'["t","send_email",1,0.5]'))

        assert broker.find(claimed.lease.task_id) is None
        assert len(broker.recent(QUEUE)) == 1

    def test_a_task_of_another_store_is_no_task(self, broker: Broker) -> None:
        assert broker.find(new_task().id) is None
