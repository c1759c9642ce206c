"""promote, reclaim, sweep: what the store's time brings about."""

# A lease's token is no password.
# ruff: noqa: S106

import pytest

from queue_app.brokers.base import MAX_BATCH, THROUGHPUT_COARSE, THROUGHPUT_FINE, Broker
from queue_app.core.answers import Enqueue, Moved
from queue_app.core.errors import LeaseLost
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Cancelled, Outcome, Released
from queue_app.core.policy import after_lost_worker
from queue_app.core.retention import Retention
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    attempted,
    cancelled_one,
    claim,
    claim_one,
    counts,
    dead_one,
    fails,
    is_spent,
    kept_one,
    listed,
    new_task,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock

BAD_LIMITS = [0, -1, MAX_BATCH + 1, 2.0, True, None]


class ClockContract(Contract):
    """The store decides what time it is."""

    def test_the_time_is_the_stores(self, broker: Broker, clock: FakeClock) -> None:
        first = broker.now()
        clock.advance(1.5)

        assert (first, broker.now()) == (clock.now() - 1.5, clock.now())


class PromoteContract(Contract):
    """scheduled, retrying → ready, when due."""

    def test_a_promotion_makes_what_is_due_ready(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, 2, due_in=5)
        clock.advance(5)

        moved = broker.promote(QUEUE)

        assert moved == Moved(count=2)
        assert counts(broker) == {"ready": 2}
        assert totals(broker) == {"enqueued": 2}

    def test_a_promotion_leaves_what_is_not_due_and_tells_its_time(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=5)
        seed(broker, due_in=60)
        clock.advance(4.75)

        moved = broker.promote(QUEUE)

        assert moved == Moved(count=0, next_at=clock.now() + 0.25)
        assert counts(broker) == {"scheduled": 2}

    def test_a_promotion_where_nothing_waits_knows_no_next_time(self, broker: Broker) -> None:
        seed(broker)

        assert broker.promote(QUEUE) == Moved(count=0)

    def test_a_promotion_makes_a_task_that_failed_ready(self, broker: Broker, clock: FakeClock) -> None:
        task_id = retrying_one(broker, delay_seconds=5.0)
        clock.advance(5)

        broker.promote(QUEUE)

        assert counts(broker) == {"ready": 1}
        assert broker.get(task_id).task.attempts == 1

    def test_a_promotion_takes_the_oldest_due_first(self, broker: Broker, clock: FakeClock) -> None:
        retrying = retrying_one(broker, delay_seconds=2.0)
        (late,) = seed(broker, due_in=3)
        (early,) = seed(broker, due_in=1)
        clock.advance(60)

        broker.promote(QUEUE)

        assert listed(broker, State.READY) == [early, retrying, late]

    def test_a_promotion_with_a_limit_takes_the_oldest_due_and_says_that_there_are_more(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        task_ids = [seed(broker, due_in=seconds)[0] for seconds in (3, 1, 2)]
        clock.advance(5)

        moved = broker.promote(QUEUE, limit=2)

        assert (moved.count, moved.more) == (2, True)
        assert listed(broker, State.READY) == [task_ids[1], task_ids[2]]
        assert broker.promote(QUEUE, limit=2) == Moved(count=1)

    def test_the_promoted_go_to_the_tail(self, broker: Broker, clock: FakeClock) -> None:
        (scheduled,) = seed(broker, due_in=1)
        ready = seed(broker, 2)
        clock.advance(1)

        broker.promote(QUEUE)

        assert listed(broker, State.READY) == [*ready, scheduled]

    def test_the_promoted_keep_their_priority(self, broker: Broker, clock: FakeClock) -> None:
        (high,) = seed(broker, due_in=1, priority=5)
        (low,) = seed(broker, due_in=1, priority=-5)
        (ready,) = seed(broker)
        clock.advance(1)

        broker.promote(QUEUE)

        assert listed(broker, State.READY) == [high, ready, low]

    def test_a_promotion_touches_its_queue_only(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=1)
        seed(broker, due_in=1, queue=OTHER_QUEUE)
        clock.advance(1)

        broker.promote(QUEUE)

        assert (counts(broker), counts(broker, OTHER_QUEUE)) == ({"ready": 1}, {"scheduled": 1})

    def test_a_promotion_goes_on_while_the_queue_is_paused(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=1)
        broker.pause(QUEUE)
        broker.pause()
        clock.advance(1)

        assert broker.promote(QUEUE).count == 1

    def test_more_than_a_batch_is_promoted_in_slices(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, MAX_BATCH + 1, due_in=1)
        clock.advance(1)

        moved = [broker.promote(QUEUE) for _ in range(2)]

        assert [(each.count, each.more) for each in moved] == [(MAX_BATCH, True), (1, False)]
        assert counts(broker) == {"ready": MAX_BATCH + 1}

    @pytest.mark.parametrize("limit", BAD_LIMITS)
    def test_a_promotion_with_a_limit_that_is_no_batch_is_refused(self, broker: Broker, limit: int) -> None:
        with pytest.raises(ValueError, match="limit"):
            broker.promote(QUEUE, limit=limit)


class ReclaimContract(Contract):
    """running → retrying or dead when the lease ran out."""

    def test_a_task_whose_lease_ran_out_is_retried_as_was_decided(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        moved = broker.reclaim(QUEUE, fails)

        found = broker.get(claimed.lease.task_id)
        assert moved == Moved(count=1)
        assert (found.state, found.at, found.task.attempts) == (State.RETRYING, clock.now() + 5, 1)
        assert counts(broker) == {"retrying": 1}
        assert totals(broker) == {"enqueued": 1, "reclaimed": 1, "retried": 1}

    def test_a_task_whose_lease_ran_out_is_dead_as_was_decided(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        broker.reclaim(QUEUE, is_spent)

        assert broker.get(claimed.lease.task_id).task.attempts == 1
        assert counts(broker) == {"dead": 1}
        assert totals(broker) == {"enqueued": 1, "reclaimed": 1, "dead": 1}

    def test_a_reclaim_is_decided_on_lease_and_body(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        asked: list[Claimed] = []

        def decide(each: Claimed) -> Outcome:
            asked.append(each)
            return fails(each)

        broker.reclaim(QUEUE, decide)

        assert asked == [claimed]

    def test_the_usual_decision_spends_the_attempts_of_a_task(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0, max_retries=1)
        clock.advance(1)
        broker.reclaim(QUEUE, lambda each: after_lost_worker(each, at=clock.now()))
        first = counts(broker)
        clock.advance(60)
        broker.promote(QUEUE)
        claim_one(broker, lease_seconds=1.0)
        clock.advance(1)

        broker.reclaim(QUEUE, lambda each: after_lost_worker(each, at=clock.now()))

        assert (first, counts(broker)) == ({"retrying": 1}, {"dead": 1})
        assert broker.get(claimed.lease.task_id).task.attempts == 2

    def test_a_lease_that_has_not_run_out_stays_and_its_end_is_told(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=5.0)
        clock.advance(4.75)

        moved = broker.reclaim(QUEUE, fails)

        assert moved == Moved(count=0, next_at=clock.now() + 0.25)
        assert counts(broker) == {"running": 1}

    def test_a_reclaim_where_nothing_runs_knows_no_next_time(self, broker: Broker) -> None:
        seed(broker)

        assert broker.reclaim(QUEUE, fails) == Moved(count=0)

    def test_a_lease_that_was_renewed_meanwhile_stays(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        def decide_slowly(each: Claimed) -> Outcome:
            broker.heartbeat(QUEUE, ["w:1"])
            return fails(each)

        moved = broker.reclaim(QUEUE, decide_slowly)

        assert moved.count == 0
        assert counts(broker) == {"running": 1}
        assert totals(broker) == {"enqueued": 1}

    def test_a_task_that_was_settled_meanwhile_stays_settled(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        def decide_slowly(each: Claimed) -> Outcome:
            broker.ack(each.lease)
            return fails(each)

        moved = broker.reclaim(QUEUE, decide_slowly)

        assert moved.count == 0
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 1, "succeeded": 1}

    def test_a_task_that_was_claimed_anew_meanwhile_stays_with_its_new_owner(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        def decide_slowly(each: Claimed) -> Outcome:
            broker.release(each.lease)
            claim_one(broker, holder="w:2", lease_seconds=0.0)
            return fails(each)

        moved = broker.reclaim(QUEUE, decide_slowly)

        assert moved.count == 0
        assert list(broker.held(QUEUE, ["w:2"])) == ["w:2"]

    def test_two_reclaimers_take_a_task_once(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        clock.advance(1)

        def decide_after_another(each: Claimed) -> Outcome:
            broker.reclaim(QUEUE, is_spent)
            return fails(each)

        moved = broker.reclaim(QUEUE, decide_after_another)

        assert moved.count == 0
        assert counts(broker) == {"dead": 1}
        assert totals(broker) == {"enqueued": 1, "reclaimed": 1, "dead": 1}

    def test_one_that_somebody_asked_to_cancel_ends_cancelled(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        broker.cancel(claimed.lease.task_id)
        clock.advance(1)

        broker.reclaim(QUEUE, fails)

        assert counts(broker) == {"cancelled": 1}
        assert broker.get(claimed.lease.task_id).task.attempts == 1
        assert totals(broker) == {"enqueued": 1, "reclaimed": 1, "cancelled": 1}

    def test_one_that_somebody_asked_to_delete_is_gone(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        broker.delete(claimed.lease.task_id)
        clock.advance(1)

        broker.reclaim(QUEUE, fails)

        assert counts(broker) == {}
        assert broker.find(claimed.lease.task_id) is None
        assert totals(broker) == {"enqueued": 1, "reclaimed": 1, "cancelled": 1, "deleted": 1}

    def test_a_decision_to_cancel_or_release_is_followed_too(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, 2)
        first, second = claim(broker, 2, lease_seconds=1.0)
        clock.advance(1)

        def decide(each: Claimed) -> Outcome:
            is_first = each.lease == first.lease
            return Cancelled(lease=each.lease, body=each.body) if is_first else Released(lease=each.lease)

        broker.reclaim(QUEUE, decide)

        assert listed(broker, State.READY) == [second.lease.task_id]
        assert totals(broker) == {"enqueued": 2, "reclaimed": 2, "cancelled": 1, "released": 1}

    def test_a_reclaim_with_a_limit_takes_the_oldest_and_says_that_there_are_more(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        task_ids = seed(broker, 3)
        for lease_seconds in (3.0, 1.0, 2.0):
            claim_one(broker, lease_seconds=lease_seconds)
        clock.advance(5)

        moved = broker.reclaim(QUEUE, is_spent, limit=2)

        assert (moved.count, moved.more) == (2, True)
        assert listed(broker, State.RUNNING) == task_ids[:1]
        assert broker.reclaim(QUEUE, is_spent) == Moved(count=1)

    def test_a_reclaim_goes_on_while_the_queue_is_paused(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0)
        broker.pause(QUEUE)
        broker.pause()
        clock.advance(1)

        assert broker.reclaim(QUEUE, fails).count == 1

    def test_a_reclaim_touches_its_queue_only(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, queue=OTHER_QUEUE, lease_seconds=1.0)
        clock.advance(1)

        assert broker.reclaim(QUEUE, fails) == Moved(count=0)
        assert counts(broker, OTHER_QUEUE) == {"running": 1}

    def test_a_reclaimed_task_that_is_promoted_goes_to_the_tail(self, broker: Broker, clock: FakeClock) -> None:
        first, second = seed(broker, 2)
        claim_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)
        clock.advance(5)
        broker.promote(QUEUE)

        assert listed(broker, State.READY) == [second, first]

    def test_a_body_that_cannot_be_read_is_for_the_decision_too(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        broker.retry(claimed.lease, b"no json", delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)
        claim_one(broker, lease_seconds=1.0)
        clock.advance(1)

        broker.reclaim(QUEUE, lambda each: after_lost_worker(each, at=clock.now()))

        found = broker.get(claimed.lease.task_id)
        assert (found.state, found.body) == (State.DEAD, b"no json")

    def test_the_late_worker_has_lost_its_lease(self, broker: Broker, clock: FakeClock) -> None:
        claimed = running_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)

        with pytest.raises(LeaseLost):
            broker.ack(claimed.lease)

        assert counts(broker) == {"retrying": 1}

    @pytest.mark.parametrize("limit", BAD_LIMITS)
    def test_a_reclaim_with_a_limit_that_is_no_batch_is_refused(self, broker: Broker, limit: int) -> None:
        with pytest.raises(ValueError, match="limit"):
            broker.reclaim(QUEUE, fails, limit=limit)


class SweepContract(Contract):
    """finished and past retention → gone."""

    def test_a_sweep_drops_what_is_past_retention_and_counts_it(self, broker: Broker, clock: FakeClock) -> None:
        kept_one(broker, keep_seconds=60.0)
        kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        first, second = broker.sweep(QUEUE), broker.sweep(QUEUE)

        assert (first, second) == (Moved(count=2), Moved(count=0))
        assert totals(broker) == {"enqueued": 2, "succeeded": 2}

    @pytest.mark.parametrize("retention", [Retention(cancelled_seconds=60.0, dead_seconds=60.0)], ids=["60 s"])
    def test_every_finished_state_has_its_time(self, broker: Broker, clock: FakeClock) -> None:
        kept_one(broker, keep_seconds=60.0)
        dead_one(broker)
        cancelled_one(broker)
        clock.advance(59.75)
        before = broker.sweep(QUEUE).count
        clock.advance(0.25)

        assert (before, broker.sweep(QUEUE).count) == (0, 3)
        assert counts(broker) == {}

    def test_a_sweep_leaves_what_is_not_past(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=1)
        retrying_one(broker, delay_seconds=1.0)
        dead_one(broker)
        running_one(broker, lease_seconds=1.0)
        seed(broker)
        clock.advance(400 * 86_400)

        swept = broker.sweep(QUEUE)

        assert swept.count == 0
        assert counts(broker) == {"scheduled": 1, "retrying": 1, "dead": 1, "running": 1, "ready": 1}

    def test_a_sweep_with_a_limit_leaves_the_rest_for_the_next_time(self, broker: Broker, clock: FakeClock) -> None:
        for _ in range(3):
            kept_one(broker, keep_seconds=1.0)
        clock.advance(1)

        swept = [broker.sweep(QUEUE, limit=2) for _ in range(2)]

        assert swept == [Moved(count=2, more=True), Moved(count=1)]

    def test_a_sweep_frees_the_ids_of_what_it_drops(self, broker: Broker, clock: FakeClock) -> None:
        task_id = kept_one(broker, keep_seconds=1.0)
        clock.advance(1)
        broker.sweep(QUEUE)

        assert broker.enqueue(new_task(id=task_id)).created

    def test_a_task_that_was_revived_is_not_swept(self, broker: Broker, clock: FakeClock) -> None:
        task_id = cancelled_one(broker)
        broker.revive(task_id)
        clock.advance(400 * 86_400)

        assert broker.sweep(QUEUE).count == 0
        assert counts(broker) == {"ready": 1}

    def test_a_sweep_touches_its_queue_only(self, broker: Broker, clock: FakeClock) -> None:
        kept_one(broker, queue=OTHER_QUEUE, keep_seconds=1.0)
        clock.advance(1)

        assert broker.sweep(QUEUE).count == 0
        assert broker.sweep(OTHER_QUEUE).count == 1

    @pytest.mark.parametrize(("coarse", "bounds"), [(False, THROUGHPUT_FINE), (True, THROUGHPUT_COARSE)])
    def test_a_sweep_forgets_old_throughput(
        self, broker: Broker, clock: FakeClock, coarse: bool, bounds: tuple[float, float]
    ) -> None:
        width, reach = bounds
        seed(broker)
        clock.advance(reach)
        broker.sweep(QUEUE)
        within = broker.throughput(QUEUE, coarse=coarse)
        clock.advance(width)
        broker.sweep(QUEUE)

        assert [bucket.counts for bucket in within] == [{"enqueued": 1}]
        assert broker.throughput(QUEUE, coarse=coarse) == []
        assert totals(broker) == {"enqueued": 1}

    def test_a_claim_may_be_repeated_long_after_it_was_made(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, 2)
        first = claim_one(broker, token="k1", lease_seconds=1.0)
        clock.advance(10 * 86_400)
        broker.sweep(QUEUE)

        assert claim_one(broker, token="k1") == first

    def test_a_sweep_of_a_queue_that_never_was_does_nothing(self, broker: Broker) -> None:
        assert broker.sweep("never") == Moved(count=0)
        assert broker.queues() == []

    @pytest.mark.parametrize("limit", BAD_LIMITS)
    def test_a_sweep_with_a_limit_that_is_no_batch_is_refused(self, broker: Broker, limit: int) -> None:
        kept_one(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="limit"):
            broker.sweep(QUEUE, limit=limit)

        assert picture(broker) == before


class CountedOnceContract(Contract):
    """`attempts` rises once per run that started and was not released."""

    def test_a_run_that_fails_counts_and_one_that_is_released_or_snoozed_does_not(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        task = new_task()
        broker.enqueue_many([Enqueue(task=task)])

        broker.release(claim_one(broker).lease)
        broker.snooze(claim_one(broker).lease, delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)
        claim_one(broker, holder="gone")
        broker.abandon(QUEUE, ["gone"])
        uncounted = broker.get(task.id).task.attempts
        claimed = claim_one(broker)
        broker.retry(claimed.lease, attempted(claimed), delay_seconds=1.0)
        clock.advance(1)
        broker.promote(QUEUE)
        claim_one(broker, lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)

        assert (uncounted, broker.get(task.id).task.attempts) == (0, 2)
