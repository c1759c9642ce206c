"""ack, retry, snooze, dead_letter, release, cancel: what becomes of a running task, under its token."""

# A lease's token is no password.
# ruff: noqa: S106

import pytest

from queue_app.brokers.base import Broker
from queue_app.core.answers import Settled, Standing
from queue_app.core.errors import LeaseLost, TaskGone
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Released, Snoozed, Spent, Succeeded
from queue_app.core.retention import Retention
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

DAY = 86_400.0


class AckContract(Contract):
    """running → succeeded."""

    def test_a_task_that_ran_well_is_gone_at_once(self, broker: Broker) -> None:
        claimed = running_one(broker)

        word = broker.ack(claimed.lease)

        assert word is Settled.DONE
        assert broker.find(claimed.lease.task_id) is None
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 1, "succeeded": 1}

    def test_a_success_that_asks_for_it_is_kept_with_body_result_and_time(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        claimed = running_one(broker)
        clock.advance(1)

        broker.ack(claimed.lease, result=b'{"sum":7}', keep_seconds=60.0, body=attempted(claimed))

        kept = broker.get(claimed.lease.task_id)
        assert (kept.state, kept.result, kept.at) == (State.SUCCEEDED, b'{"sum":7}', clock.now())
        assert kept.task.attempts == 1
        assert counts(broker) == {"succeeded": 1}
        assert totals(broker) == {"enqueued": 1, "succeeded": 1}

    def test_a_success_may_be_kept_without_a_result(self, broker: Broker) -> None:
        claimed = running_one(broker)

        broker.ack(claimed.lease, keep_seconds=60.0)

        kept = broker.get(claimed.lease.task_id)
        assert (kept.state, kept.result, kept.body) == (State.SUCCEEDED, None, claimed.body)

    def test_a_result_without_a_lifetime_is_dropped(self, broker: Broker) -> None:
        claimed = running_one(broker)

        broker.ack(claimed.lease, result=b"42")

        assert broker.find(claimed.lease.task_id) is None
        assert counts(broker) == {}

    def test_a_kept_record_is_seen_until_its_time_and_no_longer(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease, result=b"42", keep_seconds=60.0)
        clock.advance(59.75)
        before = counts(broker), listed(broker, State.SUCCEEDED), broker.find(claimed.lease.task_id) is not None
        clock.advance(0.25)

        after = counts(broker), listed(broker, State.SUCCEEDED), broker.find(claimed.lease.task_id) is not None

        assert before == ({"succeeded": 1}, [claimed.lease.task_id], True)
        assert after == ({}, [], False)

    def test_any_bytes_may_be_a_result(self, broker: Broker) -> None:
        claimed = running_one(broker)
        result = bytes(range(256))

        broker.ack(claimed.lease, result=result, keep_seconds=60.0)

        assert broker.get(claimed.lease.task_id).result == result

    def test_a_batch_is_settled_in_one_exchange(self, broker: Broker) -> None:
        seed(broker, 100)
        outcomes = [Succeeded(lease=each.lease) for each in claim(broker, 60)]

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes, want=10)

        assert (answer.settled, answer.standing) == ({}, Standing.CLAIMED)
        assert counts(broker) == {"running": 10, "ready": 30}
        assert totals(broker) == {"enqueued": 100, "succeeded": 60}

    def test_priorities_are_forgotten_with_their_tasks(self, broker: Broker) -> None:
        claimed = running_one(broker, priority=9)
        broker.ack(claimed.lease)
        seed(broker, priority=5)
        seed(broker, id=claimed.lease.task_id, priority=0)

        assert claim_one(broker).task.priority == 5


class OutcomeContract(Contract):
    """Every other end of an attempt."""

    def test_a_failure_with_attempts_left_waits_for_its_time(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)

        word = broker.retry(claimed.lease, attempted(claimed), delay_seconds=2.5)

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.DONE
        assert (found.state, found.at, found.task.attempts) == (State.RETRYING, clock.now() + 2.5, 1)
        assert counts(broker) == {"retrying": 1}
        assert totals(broker) == {"enqueued": 1, "retried": 1}

    def test_a_retry_without_a_wait_still_waits_for_the_promoter(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)

        broker.retry(claimed.lease, attempted(claimed), delay_seconds=0.0)

        assert counts(broker) == {"retrying": 1}
        assert broker.get(claimed.lease.task_id).at == clock.now()

    def test_a_snooze_is_scheduled_and_counts_no_attempt(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)

        word = broker.snooze(claimed.lease, delay_seconds=2.5)

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.DONE
        assert (found.state, found.at, found.body) == (State.SCHEDULED, clock.now() + 2.5, claimed.body)
        assert counts(broker) == {"scheduled": 1}
        assert totals(broker) == {"enqueued": 1, "snoozed": 1}

    def test_a_task_that_had_failed_before_is_scheduled_by_a_snooze(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)

        broker.snooze(claim_one(broker).lease, delay_seconds=5.0)

        assert counts(broker) == {"scheduled": 1}
        assert broker.get(claimed.lease.task_id).task.attempts == 1

    def test_a_spent_task_is_dead(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        clock.advance(1)

        word = broker.dead_letter(claimed.lease, attempted(claimed))

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.DONE
        assert (found.state, found.at, found.task.attempts) == (State.DEAD, clock.now(), 1)
        assert counts(broker) == {"dead": 1}
        assert totals(broker) == {"enqueued": 1, "dead": 1}

    def test_the_dead_are_kept_for_ever(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, claimed.body)
        clock.advance(10_000 * DAY)

        broker.sweep(QUEUE)

        assert counts(broker) == {"dead": 1}

    @pytest.mark.parametrize("retention", [Retention(dead_seconds=60.0)], ids=["dead for 60 s"])
    def test_the_dead_are_kept_as_long_as_the_owner_says(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, claimed.body)
        clock.advance(60)

        assert counts(broker) == {}
        assert broker.find(claimed.lease.task_id) is None

    def test_bytes_that_are_no_body_are_dead_as_they_are(self, broker: Broker) -> None:
        claimed = running_one(broker)

        broker.dead_letter(claimed.lease, b"\xff{ no json")

        found = broker.get(claimed.lease.task_id)
        assert (found.state, found.body) == (State.DEAD, b"\xff{ no json")
        assert found.problem

    def test_a_released_task_is_ready_and_counts_no_attempt(self, broker: Broker) -> None:
        claimed = running_one(broker)

        word = broker.release(claimed.lease)

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.DONE
        assert (found.state, found.at, found.body) == (State.READY, None, claimed.body)
        assert counts(broker) == {"ready": 1}
        assert totals(broker) == {"enqueued": 1, "released": 1}

    def test_a_release_puts_back_at_the_head(self, broker: Broker) -> None:
        first, *others = seed(broker, 3)
        claimed = claim_one(broker)

        broker.release(claimed.lease)

        assert listed(broker, State.READY) == [first, *others]

    def test_a_released_batch_stands_in_its_old_order(self, broker: Broker) -> None:
        task_ids = seed(broker, 6)
        outcomes = [Released(lease=each.lease) for each in claim(broker, 4)]

        broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes)

        assert listed(broker, State.READY) == task_ids
        assert totals(broker) == {"enqueued": 6, "released": 4}

    def test_a_release_goes_back_to_the_head_of_its_own_priority(self, broker: Broker) -> None:
        for priority in (5, 0, -5):
            seed(broker, 2, priority=priority)
        order = listed(broker, State.READY)
        claimed = claim(broker, 5)

        broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=[Released(lease=each.lease) for each in claimed])

        assert listed(broker, State.READY) == order

    def test_what_is_released_can_be_claimed_in_the_same_exchange(self, broker: Broker) -> None:
        first, second = seed(broker, 2)
        claimed = claim_one(broker)

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=[Released(lease=claimed.lease)], want=2)

        assert ids_of(answer.claimed) == [first, second]

    def test_a_task_that_its_runner_cancelled_is_cancelled(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)

        word = broker.settle(Cancelled(lease=claimed.lease, body=attempted(claimed)))

        found = broker.get(claimed.lease.task_id)
        assert word is Settled.DONE
        assert (found.state, found.at, found.task.attempts) == (State.CANCELLED, clock.now(), 1)
        assert counts(broker) == {"cancelled": 1}
        assert totals(broker) == {"enqueued": 1, "cancelled": 1}

    @pytest.mark.parametrize("retention", [Retention(), Retention(cancelled_seconds=60.0)], ids=["a day", "60 s"])
    def test_the_cancelled_are_kept_for_a_day_or_as_the_owner_says(
        self, broker: Broker, clock: FakeClock, retention: Retention
    ) -> None:
        claimed = running_one(broker)
        broker.settle(Cancelled(lease=claimed.lease, body=claimed.body))
        clock.advance((retention.cancelled_seconds or 0.0) - 0.25)
        before = counts(broker)
        clock.advance(0.25)

        assert before == {"cancelled": 1}
        assert counts(broker) == {}

    def test_a_task_keeps_its_priority_through_release_retry_and_snooze(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, priority=5)
        task_id = claimed.lease.task_id
        seed(broker, 2)

        broker.release(claimed.lease)
        claimed = claim_one(broker)
        broker.retry(claimed.lease, claimed.body, delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)
        again = claim_one(broker)
        broker.snooze(again.lease, delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)

        assert {claimed.lease.task_id, again.lease.task_id, claim_one(broker).lease.task_id} == {task_id}

    def test_all_outcomes_may_come_in_one_exchange(self, broker: Broker) -> None:
        seed(broker, 8)
        held = claim(broker, 7)

        answer = broker.exchange(
            QUEUE,
            holder="w:1",
            token="k2",
            outcomes=[
                Succeeded(lease=held[0].lease),
                Succeeded(lease=held[1].lease, keep_seconds=60.0),
                Failed(lease=held[2].lease, body=held[2].body, delay_seconds=5.0),
                Snoozed(lease=held[3].lease, delay_seconds=5.0),
                Spent(lease=held[4].lease, body=held[4].body),
                Released(lease=held[5].lease),
                Cancelled(lease=held[6].lease, body=held[6].body),
            ],
        )

        assert answer.settled == {}
        assert counts(broker) == {
            "succeeded": 1,
            "retrying": 1,
            "scheduled": 1,
            "dead": 1,
            "ready": 2,
            "cancelled": 1,
        }
        assert totals(broker) == {
            "enqueued": 8,
            "succeeded": 2,
            "retried": 1,
            "snoozed": 1,
            "dead": 1,
            "released": 1,
            "cancelled": 1,
        }

    def test_outcomes_of_other_queues_are_settled_too(self, broker: Broker) -> None:
        seed(broker)
        theirs = [running_one(broker, queue=queue) for queue in (OTHER_QUEUE, "third")]
        outcomes: list[Outcome] = [
            Succeeded(lease=theirs[0].lease),
            Failed(lease=theirs[1].lease, body=attempted(theirs[1]), delay_seconds=5.0),
        ]

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", outcomes=outcomes, want=1)

        assert answer.settled == {}
        assert len(answer.claimed) == 1
        assert (counts(broker, OTHER_QUEUE), counts(broker, "third")) == ({}, {"retrying": 1})

    def test_what_is_refused_in_another_queue_is_told(self, broker: Broker) -> None:
        claimed = running_one(broker, queue=OTHER_QUEUE)
        stranger = Lease(claimed.lease.task_id, OTHER_QUEUE, "not the token")

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", outcomes=[Succeeded(lease=stranger)])

        assert answer.settled == {claimed.lease.task_id: Settled.LOST}
        assert counts(broker, OTHER_QUEUE) == {"running": 1}

    def test_one_refusal_does_not_keep_the_others_from_being_settled(self, broker: Broker) -> None:
        seed(broker, 2)
        good, lost = claim(broker, 2)
        stranger = Lease(lost.lease.task_id, QUEUE, "not the token")

        answer = broker.exchange(
            QUEUE,
            holder="w:1",
            token="k2",
            outcomes=[
                Succeeded(lease=stranger),
                Succeeded(lease=Lease("unknown", QUEUE, "k1")),
                Succeeded(lease=good.lease),
            ],
        )

        assert answer.settled == {lost.lease.task_id: Settled.LOST, "unknown": Settled.GONE}
        assert counts(broker) == {"running": 1}
        assert totals(broker) == {"enqueued": 2, "succeeded": 1}

    def test_of_an_id_that_comes_twice_in_one_call_the_second_is_judged_after_the_first(self, broker: Broker) -> None:
        claimed = running_one(broker)
        outcomes: list[Outcome] = [
            Failed(lease=claimed.lease, body=attempted(claimed), delay_seconds=5.0),
            Succeeded(lease=claimed.lease),
        ]

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes)

        assert answer.settled == {claimed.lease.task_id: Settled.REPEATED}
        assert counts(broker) == {"retrying": 1}
        assert totals(broker) == {"enqueued": 1, "retried": 1}


OUTCOMES = ["ack", "keep", "retry", "snooze", "dead", "release", "cancel"]


def outcome(kind: str, claimed: Claimed, token: str | None = None) -> Outcome:
    """Each kind of outcome, under the claim's token or another one."""
    lease = Lease(claimed.lease.task_id, claimed.lease.queue, token or claimed.lease.token)
    body = attempted(claimed)
    return {
        "ack": Succeeded(lease=lease),
        "keep": Succeeded(lease=lease, keep_seconds=60.0, result=b"42", body=body),
        "retry": Failed(lease=lease, body=body, delay_seconds=5.0),
        "snooze": Snoozed(lease=lease, delay_seconds=5.0),
        "dead": Spent(lease=lease, body=body, note=b'["x","y",1,0.5]'),
        "release": Released(lease=lease),
        "cancel": Cancelled(lease=lease, body=body),
    }[kind]


class FenceContract(Contract):
    """A token that no longer owns the task changes nothing, whatever it brings."""

    @pytest.fixture(params=OUTCOMES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_a_token_that_never_owned_the_task_is_refused(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        before = picture(broker)

        with pytest.raises(LeaseLost, match=claimed.lease.task_id):
            broker.settle(outcome(kind, claimed, token="not the token"))

        assert picture(broker) == before

    def test_a_worker_whose_task_was_reclaimed_has_lost_it(self, broker: Broker, clock: FakeClock, kind: str) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)
        before = picture(broker)

        with pytest.raises(LeaseLost):
            broker.settle(outcome(kind, claimed))

        assert picture(broker) == before
        assert counts(broker) == {"retrying": 1}

    def test_a_worker_cannot_touch_a_newer_attempt(self, broker: Broker, clock: FakeClock, kind: str) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)
        clock.advance(5)
        broker.promote(QUEUE)
        newer = claim_one(broker, holder="w:2")
        before = picture(broker)

        with pytest.raises(LeaseLost):
            broker.settle(outcome(kind, claimed))

        assert picture(broker) == before
        broker.ack(newer.lease)

    def test_a_worker_that_settled_cannot_touch_a_newer_attempt(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        broker.release(claimed.lease)
        claim_one(broker, holder="w:2")
        before = picture(broker)

        with pytest.raises(LeaseLost):
            broker.settle(outcome(kind, claimed))

        assert picture(broker) == before

    def test_a_worker_that_comes_late_but_before_the_reclaimer_still_owns_its_task(
        self, broker: Broker, clock: FakeClock, kind: str
    ) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(100)

        assert broker.settle(outcome(kind, claimed)) is Settled.DONE
        assert broker.reclaim(QUEUE, fails).count == 0

    def test_a_task_that_was_never_there_is_gone(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease)
        before = picture(broker)

        with pytest.raises(TaskGone, match=claimed.lease.task_id):
            broker.settle(outcome(kind, claimed))

        assert picture(broker) == before

    def test_an_outcome_sent_again_is_a_repeat_or_gone_and_changes_nothing(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        broker.settle(outcome(kind, claimed))
        before = picture(broker)

        answer = broker.exchange(QUEUE, holder="", token="", outcomes=[outcome(kind, claimed)])

        expected = Settled.GONE if kind == "ack" else Settled.REPEATED
        assert answer.settled == {claimed.lease.task_id: expected}
        assert picture(broker) == before

    def test_another_outcome_under_a_token_that_has_settled_changes_nothing(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=5.0)
        before = picture(broker)

        assert broker.settle(outcome(kind, claimed)) is Settled.REPEATED
        assert picture(broker) == before

    def test_a_lease_on_the_wrong_queue_is_no_lease(self, broker: Broker, kind: str) -> None:
        claimed = running_one(broker)
        elsewhere = Claimed(Lease(claimed.lease.task_id, OTHER_QUEUE, claimed.lease.token), claimed.body)
        before = picture(broker)

        # A store that sees one queue at a time can only say that it knows no such task.
        with pytest.raises((LeaseLost, TaskGone)):
            broker.settle(outcome(kind, elsewhere))

        assert picture(broker) == before


class RepeatContract(Contract):
    """How long a store remembers who settled a task."""

    def test_a_repeat_is_known_until_the_task_is_claimed_again(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.release(claimed.lease)
        first = broker.settle(Released(lease=claimed.lease))
        claim_one(broker, holder="w:2")

        with pytest.raises(LeaseLost):
            broker.release(claimed.lease)

        assert first is Settled.REPEATED

    def test_a_repeat_is_known_through_promotion(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)

        assert broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0) is Settled.REPEATED
        assert counts(broker) == {"ready": 1}

    def test_a_repeat_is_known_through_the_cancel_of_what_waits_again(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)
        broker.cancel(claimed.lease.task_id)

        assert broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0) is Settled.REPEATED
        assert counts(broker) == {"cancelled": 1}

    def test_a_repeat_is_known_until_the_task_is_revived(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, attempted(claimed))
        broker.revive(claimed.lease.task_id)

        with pytest.raises(LeaseLost):
            broker.dead_letter(claimed.lease, attempted(claimed))

        assert counts(broker) == {"ready": 1}

    def test_a_repeat_is_known_until_the_finished_task_is_deleted(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.dead_letter(claimed.lease, attempted(claimed))
        broker.delete(claimed.lease.task_id)
        broker.enqueue(claimed.task)

        with pytest.raises(LeaseLost):
            broker.dead_letter(claimed.lease, attempted(claimed))

        assert counts(broker) == {"ready": 1}

    def test_a_repeat_is_known_until_the_waiting_task_is_deleted(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)
        broker.delete(claimed.lease.task_id)
        broker.enqueue(claimed.task)

        with pytest.raises(LeaseLost):
            broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)

        assert counts(broker) == {"ready": 1}

    def test_a_repeat_is_known_until_the_record_is_past(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease, keep_seconds=60.0)
        first = broker.ack(claimed.lease, keep_seconds=60.0)
        clock.advance(60)

        with pytest.raises(TaskGone):
            broker.ack(claimed.lease, keep_seconds=60.0)

        assert first is Settled.REPEATED
