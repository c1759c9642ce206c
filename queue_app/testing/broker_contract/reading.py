"""list_tasks, queues, stats, throughput, recent: what people see of a queue."""

# A lease's token is no password.

from collections.abc import Callable

import msgspec
import pytest

from queue_app.brokers.base import EVENTS, MAX_BATCH, RECENT_LIMIT, THROUGHPUT_COARSE, THROUGHPUT_FINE, Broker
from queue_app.core.answers import Bucket, Page, QueueStats, Recent, Snapshot
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Spent, Succeeded
from queue_app.core.policy import after_lost_worker, note
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
    kept_one,
    listed,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock
from queue_app.testing.conservation import list_all


class ListContract(Contract):
    """Pages of one state."""

    def test_a_task_is_listed_as_it_is_found(self, broker: Broker) -> None:
        task_ids = [
            retrying_one(broker),
            dead_one(broker),
            cancelled_one(broker),
            kept_one(broker, result=b""),
            running_one(broker).lease.task_id,
            *seed(broker, due_in=9),
            *seed(broker),
        ]

        snapshots = [snapshot for state in State for snapshot in broker.list_tasks(QUEUE, state).snapshots]

        assert sorted(snapshots, key=by_id) == sorted((broker.get(task_id) for task_id in task_ids), key=by_id)

    def test_a_list_has_no_results(self, broker: Broker) -> None:
        kept_one(broker, result=b"42")

        (snapshot,) = broker.list_tasks(QUEUE, State.SUCCEEDED).snapshots

        assert snapshot.result is None

    def test_an_empty_list_is_one_page(self, broker: Broker) -> None:
        assert [broker.list_tasks(QUEUE, state) for state in State] == [Page([])] * 7

    def test_ready_tasks_come_in_the_order_of_claiming(self, broker: Broker) -> None:
        priorities = (0, -5, 5, 0, 100)
        task_ids = {priority: seed(broker, 2, priority=priority) for priority in set(priorities)}

        assert listed(broker, State.READY) == [
            task_id for priority in sorted(task_ids, reverse=True) for task_id in task_ids[priority]
        ]

    @pytest.mark.parametrize("state", [State.SCHEDULED, State.RETRYING])
    def test_waiting_tasks_come_by_due_time_and_then_by_id(self, broker: Broker, state: State) -> None:
        for task_id, seconds in (("t1", 5.0), ("t3", 2.0), ("t2", 2.0), ("t0", 9.0)):
            if state is State.SCHEDULED:
                seed(broker, id=task_id, due_in=seconds)
            else:
                retrying_one(broker, id=task_id, delay_seconds=seconds)

        assert listed(broker, state) == ["t2", "t3", "t1", "t0"]

    @pytest.mark.parametrize("state", [State.SUCCEEDED, State.DEAD, State.CANCELLED])
    def test_finished_tasks_come_newest_first(self, broker: Broker, clock: FakeClock, state: State) -> None:
        make = {State.SUCCEEDED: kept_one, State.DEAD: dead_one, State.CANCELLED: cancelled_one}[state]
        for task_id in ("t2", "t0", "t3", "t1"):
            make(broker, id=task_id)
            if task_id != "t0":
                clock.advance(1)

        # t0 and t3 finished at one time: then the larger id is first.
        assert listed(broker, state) == ["t1", "t3", "t0", "t2"]

    @pytest.mark.parametrize("page_size", [1, 2, 3, 7, MAX_BATCH])
    @pytest.mark.parametrize("state", State)
    def test_pages_make_up_the_list_in_its_order(self, broker: Broker, state: State, page_size: int) -> None:
        fill(broker, state, 7)
        fill(broker, State.RETRYING if state is State.SCHEDULED else State.SCHEDULED, 3)

        pages = list_all(broker, QUEUE, state, page_size=page_size)

        assert pages == broker.list_tasks(QUEUE, state).snapshots
        assert len(pages) == 7

    def test_a_page_has_no_more_than_its_limit(self, broker: Broker) -> None:
        seed(broker, 60)

        default, small = broker.list_tasks(QUEUE, State.READY), broker.list_tasks(QUEUE, State.READY, limit=3)

        assert (len(default.snapshots), len(small.snapshots)) == (50, 3)
        assert default.cursor is not None
        assert small.cursor is not None

    def test_cancelled_entries_do_not_end_a_list_early(self, broker: Broker) -> None:
        task_ids = seed(broker, 20)
        for task_id in task_ids[:18]:
            broker.cancel(task_id)

        ready = list_all(broker, QUEUE, State.READY, page_size=5)

        assert [snapshot.id for snapshot in ready] == task_ids[18:]

    def test_records_past_retention_are_not_listed(self, broker: Broker, clock: FakeClock) -> None:
        kept_one(broker, keep_seconds=1.0)
        fresh = kept_one(broker, keep_seconds=60.0)
        clock.advance(1)

        assert listed(broker, State.SUCCEEDED) == [fresh]

    def test_a_list_is_of_one_queue(self, broker: Broker) -> None:
        seed(broker)
        (task_id,) = seed(broker, queue=OTHER_QUEUE)

        assert listed(broker, State.READY, OTHER_QUEUE) == [task_id]

    @pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", " 1", "9" * 40])
    def test_a_cursor_that_was_not_given_is_refused(self, broker: Broker, cursor: str) -> None:
        with pytest.raises(ValueError, match="cursor"):
            broker.list_tasks(QUEUE, State.READY, cursor=cursor)

    def test_a_cursor_past_the_end_is_an_empty_last_page(self, broker: Broker) -> None:
        seed(broker, 3)
        page = broker.list_tasks(QUEUE, State.READY, limit=2)
        broker.purge(QUEUE)

        assert broker.list_tasks(QUEUE, State.READY, cursor=page.cursor) == Page([])

    @pytest.mark.parametrize("limit", [0, -1, MAX_BATCH + 1, 1.0, True, None])
    def test_a_list_with_a_limit_that_is_no_page_is_refused(self, broker: Broker, limit: int) -> None:
        with pytest.raises(ValueError, match="limit"):
            broker.list_tasks(QUEUE, State.READY, limit=limit)

    def test_a_state_that_does_not_exist_is_refused(self, broker: Broker) -> None:
        with pytest.raises(ValueError, match="sleeping"):
            broker.list_tasks(QUEUE, "sleeping")  # type: ignore[arg-type]


def by_id(snapshot: Snapshot) -> str:
    return snapshot.id


def fill(broker: Broker, state: State, count: int) -> None:
    """So many tasks of one state."""
    make: dict[State, Callable[[Broker], object]] = {
        State.RUNNING: running_one,
        State.RETRYING: retrying_one,
        State.SUCCEEDED: kept_one,
        State.DEAD: dead_one,
        State.CANCELLED: cancelled_one,
    }
    for number in range(count):
        if state is State.SCHEDULED:
            seed(broker, due_in=1.0 + number % 3)
        elif state is State.READY:
            seed(broker, priority=number % 3 - 1)
        else:
            make[state](broker)


class StatsContract(Contract):
    """A queue in numbers."""

    def test_a_queue_that_never_was_has_all_states_and_no_totals(self, broker: Broker) -> None:
        assert broker.stats(QUEUE) == QueueStats(queue=QUEUE, counts=dict.fromkeys(State, 0), totals={})

    @pytest.mark.parametrize("state", State)
    def test_every_state_is_counted(self, broker: Broker, state: State) -> None:
        fill(broker, state, 3)

        assert counts(broker) == {state.value: 3}

    def test_totals_name_known_events_only(self, broker: Broker, clock: FakeClock) -> None:
        every_event(broker, clock)

        assert totals(broker) == {
            "enqueued": 9,
            "succeeded": 1,
            "retried": 1,
            "dead": 1,
            "cancelled": 2,
            "released": 1,
            "snoozed": 1,
            "reclaimed": 1,
            "deleted": 1,
            "purged": 1,
        }
        assert set(totals(broker)) == set(EVENTS)

    def test_totals_go_on_when_tasks_have_left(self, broker: Broker) -> None:
        for _ in range(3):
            broker.ack(running_one(broker).lease)

        assert totals(broker) == {"enqueued": 3, "succeeded": 3}
        assert counts(broker) == {}

    def test_queues_are_those_ever_used_by_name(self, broker: Broker) -> None:
        for queue in ("b", "a.b", "a", "Z", "a-b"):
            seed(broker, queue=queue)
        broker.ack(claim_one(broker, queue="b").lease)

        assert broker.queues() == ["Z", "a", "a-b", "a.b", "b"]

    def test_to_look_at_a_queue_does_not_make_one(self, broker: Broker) -> None:
        broker.stats("never")
        broker.list_tasks("never", State.READY)
        broker.throughput("never")
        broker.recent("never")
        broker.key_generation("never", "key")
        broker.held("never", ["w:1"])

        assert broker.queues() == []


def every_event(broker: Broker, clock: FakeClock) -> None:
    """Nine tasks, and everything that can be counted."""
    broker.ack(running_one(broker).lease)
    retrying_one(broker)
    dead_one(broker)
    cancelled_one(broker)
    broker.snooze(running_one(broker).lease, delay_seconds=60.0)
    broker.delete(seed(broker, due_in=60)[0])
    lost = running_one(broker, lease_seconds=1.0)
    broker.cancel(lost.lease.task_id)
    clock.advance(1)
    broker.reclaim(QUEUE, lambda claimed: Failed(lease=claimed.lease, body=claimed.body, delay_seconds=1.0))
    broker.release(running_one(broker).lease)
    claimed = claim_one(broker)
    seed(broker)
    broker.purge(QUEUE)
    broker.heartbeat(QUEUE, ["w:1"])
    assert broker.held(QUEUE, ["w:1"])["w:1"][1] == [claimed]


class ThroughputContract(Contract):
    """Events over time."""

    def test_throughput_counts_events_in_the_stretch_in_which_they_happen(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        start = clock.now()
        seed(broker, 2)
        clock.advance(9.75)
        broker.ack(claim_one(broker).lease)
        clock.advance(0.25)
        seed(broker)

        assert broker.throughput(QUEUE) == [
            Bucket(start, {"enqueued": 2, "succeeded": 1}),
            Bucket(start + 10, {"enqueued": 1}),
        ]

    def test_coarse_throughput_has_stretches_of_five_minutes(self, broker: Broker, clock: FakeClock) -> None:
        start = clock.now()
        seed(broker)
        clock.advance(299.75)
        seed(broker)
        clock.advance(0.25)
        seed(broker)

        assert broker.throughput(QUEUE, coarse=True) == [
            Bucket(start, {"enqueued": 2}),
            Bucket(start + 300, {"enqueued": 1}),
        ]

    def test_throughput_leaves_empty_stretches_out(self, broker: Broker, clock: FakeClock) -> None:
        start = clock.now()
        seed(broker)
        clock.advance(1_000)
        seed(broker)

        assert [bucket.start for bucket in broker.throughput(QUEUE)] == [start, start + 1_000]

    @pytest.mark.parametrize(("coarse", "bounds"), [(False, THROUGHPUT_FINE), (True, THROUGHPUT_COARSE)])
    def test_throughput_reaches_back_so_far_and_no_further(
        self, broker: Broker, clock: FakeClock, coarse: bool, bounds: tuple[float, float]
    ) -> None:
        width, reach = bounds
        seed(broker)
        clock.advance(reach)
        within = broker.throughput(QUEUE, coarse=coarse)
        clock.advance(width)

        assert len(within) == 1
        assert broker.throughput(QUEUE, coarse=coarse) == []

    def test_throughput_counts_what_the_totals_count(self, broker: Broker, clock: FakeClock) -> None:
        every_event(broker, clock)

        (bucket,) = broker.throughput(QUEUE)

        assert bucket.counts == totals(broker)

    def test_throughput_is_of_one_queue(self, broker: Broker) -> None:
        seed(broker, queue=OTHER_QUEUE)

        assert broker.throughput(QUEUE) == []


class RecentContract(Contract):
    """The capped list of recently finished tasks."""

    @pytest.mark.parametrize("state", [State.SUCCEEDED, State.DEAD, State.CANCELLED])
    def test_a_task_that_finishes_with_a_note_leaves_a_line(
        self, broker: Broker, clock: FakeClock, state: State
    ) -> None:
        claimed = running_one(broker)
        lease, its_note = claimed.lease, note(claimed.task, 0.25)
        outcomes: dict[State, Outcome] = {
            State.SUCCEEDED: Succeeded(lease=lease, note=its_note),
            State.DEAD: Spent(lease=lease, note=its_note, body=claimed.body),
            State.CANCELLED: Cancelled(lease=lease, note=its_note, body=claimed.body),
        }

        broker.settle(outcomes[state])

        assert broker.recent(QUEUE) == [Recent(clock.now(), state, lease.task_id, "send_email", 1, 0.25)]

    def test_a_task_that_was_asked_to_cancel_leaves_its_note_as_cancelled(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.cancel(claimed.lease.task_id)

        broker.settle(Spent(lease=claimed.lease, note=note(claimed.task, 0.25), body=attempted(claimed)))

        assert [line.state for line in broker.recent(QUEUE)] == [State.CANCELLED]

    def test_a_failure_that_is_retried_leaves_no_recent_line(self, broker: Broker) -> None:
        claimed = running_one(broker)

        broker.settle(Failed(lease=claimed.lease, note=note(claimed.task, 0.25), body=claimed.body, delay_seconds=1.0))

        assert broker.recent(QUEUE) == []

    def test_a_reclaimed_task_that_is_dead_leaves_a_line(self, broker: Broker, clock: FakeClock) -> None:
        running_one(broker, lease_seconds=1.0, max_retries=-1)
        clock.advance(1)

        broker.reclaim(QUEUE, lambda claimed: after_lost_worker(claimed, at=clock.now()))

        assert [(line.state, line.finished_at) for line in broker.recent(QUEUE)] == [(State.DEAD, clock.now())]

    @pytest.mark.parametrize(
        "malformed", [b"", b"no json", b"[]", b'["id","type","one",0.5]', b"\xff", b'["id","type",1,0.5,"more"]']
    )
    def test_a_note_that_cannot_be_read_leaves_no_recent_line(self, broker: Broker, malformed: bytes) -> None:
        claimed = running_one(broker)

        broker.settle(Succeeded(lease=claimed.lease, note=malformed))

        assert broker.recent(QUEUE) == []

    def test_a_type_may_hold_whatever_json_can(self, broker: Broker) -> None:
        claimed = running_one(broker)
        odd = 'a "type" with spaces, \\ and ü\n'

        broker.settle(Succeeded(lease=claimed.lease, note=msgspec.json.encode(("t1", odd, 3, 1e-06))))

        (line,) = broker.recent(QUEUE)
        assert (line.task_id, line.task_type, line.attempt, line.seconds) == ("t1", odd, 3, 1e-06)

    def test_the_newest_recent_lines_come_first_and_only_so_many_are_kept(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        for _ in range(3):
            seed(broker, 40)
            settle_with_notes(broker, 40)
            clock.advance(1)

        lines = broker.recent(QUEUE)

        assert len(lines) == RECENT_LIMIT
        assert [line.finished_at - clock.now() for line in lines] == [-1.0] * 40 + [-2.0] * 40 + [-3.0] * 20

    def test_one_large_batch_fills_the_recent_list_with_its_last(self, broker: Broker) -> None:
        task_ids = seed(broker, 2 * RECENT_LIMIT)

        settle_with_notes(broker, 2 * RECENT_LIMIT)

        assert [line.task_id for line in broker.recent(QUEUE)] == task_ids[: RECENT_LIMIT - 1 : -1]

    def test_a_recent_list_with_a_limit_has_the_newest(self, broker: Broker, clock: FakeClock) -> None:
        for _ in range(3):
            seed(broker)
            settle_with_notes(broker, 1)
            clock.advance(1)

        assert [line.finished_at - clock.now() for line in broker.recent(QUEUE, limit=2)] == [-1.0, -2.0]

    @pytest.mark.parametrize("limit", [0, -1, MAX_BATCH + 1, 1.0, True])
    def test_a_recent_list_with_a_limit_that_is_no_page_is_refused(self, broker: Broker, limit: int) -> None:
        seed(broker)
        settle_with_notes(broker, 1)

        with pytest.raises(ValueError, match="limit"):
            broker.recent(QUEUE, limit=limit)

    def test_the_recent_list_is_of_one_queue(self, broker: Broker) -> None:
        seed(broker)
        settle_with_notes(broker, 1)

        assert broker.recent(OTHER_QUEUE) == []

    @pytest.mark.parametrize("retention", [Retention(cancelled_seconds=0.0, dead_seconds=0.0)], ids=["keep nothing"])
    def test_the_recent_list_remembers_what_is_past_retention(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.settle(Spent(lease=claimed.lease, note=note(claimed.task, 0.25), body=claimed.body))
        broker.sweep(QUEUE)

        assert len(broker.recent(QUEUE)) == 1
        assert picture(broker)["listed"] == {state: [] for state in State}


def settle_with_notes(broker: Broker, count: int) -> None:
    claimed = claim(broker, count)
    outcomes = [Succeeded(lease=each.lease, note=note(each.task, 0.5)) for each in claimed]
    broker.exchange(QUEUE, holder="", token="", outcomes=outcomes)
