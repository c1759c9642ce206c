"""Heart, promoter, reclaimer, sweeper, announcer: one unit of work at a time."""

from collections.abc import Callable

import pytest

from queue_app.context import Context
from queue_app.core.errors import StoreRefused
from queue_app.core.states import State
from queue_app.worker.batch import LOST
from queue_app.worker.promoter import PROMOTE_EVERY_SECONDS
from queue_app.worker.sweeper import FIRST_SWEEP_SECONDS, SLICE_PAUSE_SECONDS, SWEEP_EVERY_SECONDS
from tests.worker.kit import LEASE, Kit, lines

MakeKit = Callable[..., Kit]


def sent(kit: Kit, verb: str) -> int:
    return sum(name == verb for name, _, _ in kit.broker.calls)


# --- heart ------------------------------------------------------------------------------------------------------------


def test_the_heart_renews_what_runs_and_what_waits(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=3)
    states: list[list[State | None]] = []

    def long() -> None:
        for _ in range(10):
            kit.time.advance(LEASE / 3)
            kit.worker.heart.run_once()
            kit.worker.reclaimer.run_once()
        states.append([kit.state(each) for each in ids])

    kit.handle("long", long)
    ids = [kit.enqueue("long"), kit.enqueue(), kit.enqueue()]

    kit.work()

    assert states == [[State.RUNNING] * 3]
    assert kit.ran == ids[1:]
    assert all(kit.state(each) is None for each in ids)


def test_one_beat_is_one_call_for_all_slots_of_a_queue(make_kit: MakeKit) -> None:
    kit = make_kit(concurrency=4)
    kit.handle("beats", kit.worker.heart.run_once)
    kit.enqueue("beats")

    kit.slot.cycle()

    beats = [(arguments, options) for verb, arguments, options in kit.broker.calls if verb == "heartbeat"]
    assert beats == [(("tasks", ["w1:0", "w1:1", "w1:2", "w1:3"]), {"lease_seconds": LEASE})]


def test_a_worker_that_holds_nothing_does_not_beat(kit: Kit) -> None:
    kit.worker.heart.run_once()

    assert sent(kit, "heartbeat") == 0


def test_the_heart_keeps_its_rhythm(kit: Kit) -> None:
    assert kit.worker.heart.run_once() == pytest.approx(LEASE / 3)


def test_undelivered_outcomes_keep_their_leases(kit: Kit) -> None:
    task_id = kit.enqueue()
    kit.slot.cycle()
    kit.broker.fail_next("exchange")
    kit.slot.step()

    for _ in range(5):
        kit.time.advance(LEASE / 2)
        kit.worker.heart.run_once()
        kit.worker.reclaimer.run_once()
    kit.work()

    assert kit.ran == [task_id]
    assert kit.state(task_id) is None


def test_a_lost_lease_is_told_to_the_handler(kit: Kit) -> None:
    reasons: list[str] = []

    def handler(context: Context) -> None:
        kit.time.advance(LEASE + 1)
        kit.another(name="w2").reclaimer.run_once()
        kit.worker.heart.run_once()
        reasons.append(context.cancel_reason)

    kit.handle("long", handler, takes_context=True)
    kit.enqueue("long")

    kit.work()

    assert reasons == [LOST]


def test_a_beat_that_was_overtaken_by_the_next_claim_loses_nothing(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store answers a beat with what was held before the exchange that settled it arrived."""
    kit.enqueue()
    second = kit.enqueue()
    kit.slot.cycle()
    real = kit.broker.heartbeat

    def heartbeat(*arguments: object, **options: object) -> object:
        beat = real(*arguments, **options)
        kit.slot.cycle()
        return beat

    monkeypatch.setattr(kit.broker, "heartbeat", heartbeat, raising=False)
    kit.worker.heart.run_once()
    monkeypatch.undo()
    kit.work()

    assert kit.state(second) is None
    assert len(kit.ran) == 2


def test_a_cancel_reaches_the_handler_with_the_next_beat(kit: Kit) -> None:
    def handler(context: Context) -> None:
        kit.broker.cancel(context.id)
        assert not context.cancelled
        kit.worker.heart.run_once()
        context.raise_if_cancelled()
        kit.ran.append("not cancelled")

    kit.handle("long", handler, takes_context=True)
    task_id = kit.enqueue("long")

    kit.work()

    assert kit.ran == []
    assert kit.state(task_id) is State.CANCELLED


def test_a_queue_that_the_store_refuses_to_renew_does_not_stop_the_others(
    make_kit: MakeKit, caplog: pytest.LogCaptureFixture
) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)), concurrency=2)
    first, second = kit.worker.runner.slots

    def beats() -> None:
        kit.time.advance(1)
        kit.broker.fail_next("heartbeat", StoreRefused("queue:a:holders is a list"))
        kit.worker.heart.run_once()

    kit.handle("beats", beats)
    kit.handle("second", lambda: second.cycle(["b"]))
    kit.enqueue("second", queue="a")
    kit.enqueue("beats", queue="b")

    first.cycle(["a"])

    assert lines(caplog, "store refused") == ["store refused queue=a duty=heart error=queue:a:holders is a list"]
    assert sent(kit, "heartbeat") == 2


# --- promoter ---------------------------------------------------------------------------------------------------------


def test_the_promoter_moves_what_is_due_while_all_slots_are_busy(kit: Kit) -> None:
    due, later = kit.enqueue(delay=1.0), kit.enqueue(delay=100.0)
    kit.slot.cycle()
    kit.time.advance(1.0)

    assert kit.worker.promoter.run_once() == PROMOTE_EVERY_SECONDS
    assert kit.state(due) is State.READY
    assert kit.state(later) is State.SCHEDULED


def test_the_promoter_leaves_it_to_the_slot_that_waits(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.enqueue(delay=1.0)
    kit.time.advance(10)
    monkeypatch.setattr(kit.worker.runner.waiter, "_asking", True)

    kit.worker.promoter.run_once()

    assert sent(kit, "promote") == 0


def test_a_fresh_answer_that_nothing_is_due_spares_a_call(kit: Kit) -> None:
    kit.enqueue(delay=100.0)
    kit.slot.cycle()

    kit.worker.promoter.run_once()

    assert sent(kit, "promote") == 0
    kit.time.advance(PROMOTE_EVERY_SECONDS)
    kit.worker.promoter.run_once()
    assert sent(kit, "promote") == 1


def test_many_due_at_once_are_promoted_slice_by_slice(kit: Kit) -> None:
    ids = [kit.enqueue(delay=1.0) for _ in range(3)]
    kit.time.advance(1)
    real = kit.broker.promote
    kit.broker.promote = lambda queue: real(queue, limit=2)

    assert kit.worker.promoter.run_once() == 0.0
    assert kit.worker.promoter.run_once() == PROMOTE_EVERY_SECONDS
    assert {kit.state(each) for each in ids} == {State.READY}


# --- reclaimer --------------------------------------------------------------------------------------------------------


def test_the_reclaimer_takes_back_what_expired(kit: Kit) -> None:
    task_id = kit.enqueue()
    kit.broker.claim("tasks", holder="dead:0", lease_seconds=LEASE)
    kit.time.advance(LEASE + 0.1)

    kit.worker.reclaimer.run_once()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.RETRYING
    assert snapshot.task.attempts == 1
    assert snapshot.task.last_error is not None
    assert snapshot.task.last_error.type == "LeaseExpired"


def test_the_reclaimer_comes_when_the_first_known_lease_runs_out(kit: Kit) -> None:
    kit.enqueue()
    kit.enqueue()
    kit.broker.claim("tasks", holder="other:0", lease_seconds=2.0)
    kit.slot.cycle()

    assert kit.worker.reclaimer.run_once() == pytest.approx(2.0, abs=0.01)


def test_the_reclaimer_looks_at_least_once_a_lease(make_kit: MakeKit) -> None:
    kit = make_kit(lease_seconds=2.0)

    assert kit.worker.reclaimer.run_once() == pytest.approx(1.0)
    kit.time.advance(1.0)
    kit.worker.reclaimer.run_once()
    assert sent(kit, "reclaim") == 1
    kit.time.advance(1.2)
    kit.worker.reclaimer.run_once()

    assert sent(kit, "reclaim") == 2


def test_a_fresh_answer_that_nothing_expires_spares_a_call(kit: Kit) -> None:
    kit.slot.cycle()

    kit.worker.reclaimer.run_once()

    assert sent(kit, "reclaim") == 0


def test_one_queue_that_cannot_be_reclaimed_does_not_stop_the_others(make_kit: MakeKit) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)))
    task_id = kit.enqueue(queue="b")
    kit.broker.claim("b", holder="dead:0", lease_seconds=1.0)
    kit.time.advance(2)
    kit.broker.fail_next("reclaim", StoreRefused("full"))

    kit.worker.reclaimer.run_once()

    assert kit.state(task_id) is State.RETRYING


# --- sweeper ----------------------------------------------------------------------------------------------------------


def test_the_sweeper_begins_soon_after_the_start_but_not_with_it(kit: Kit) -> None:
    assert FIRST_SWEEP_SECONDS <= kit.worker.sweeper.run_once() <= 2 * FIRST_SWEEP_SECONDS
    assert sent(kit, "sweep") == 0


def test_the_sweeper_drops_what_is_past_its_time(kit: Kit) -> None:
    task_id = kit.enqueue(keep_result=60.0)
    kit.work()
    kit.time.advance(61)
    kit.worker.sweeper.run_once()

    assert kit.worker.sweeper.run_once() == SWEEP_EVERY_SECONDS
    assert kit.state(task_id) is None
    assert kit.broker.stats("tasks").counts[State.SUCCEEDED] == 0


def test_while_there_is_more_the_sweeper_only_pauses(kit: Kit) -> None:
    for _ in range(3):
        kit.enqueue(keep_result=60.0)
    kit.work()
    kit.time.advance(61)
    real = kit.broker.sweep
    kit.broker.sweep = lambda queue: real(queue, limit=2)
    kit.worker.sweeper.run_once()

    assert kit.worker.sweeper.run_once() == SLICE_PAUSE_SECONDS


# --- announcer --------------------------------------------------------------------------------------------------------


def test_the_announcer_says_what_each_slot_does(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=3)

    def announces() -> None:
        kit.time.advance(1.5)
        kit.worker.announcer.run_once()

    kit.handle("announces", announces)
    kit.enqueue()
    task_id = kit.enqueue("announces")
    kit.enqueue()

    kit.work()

    (record,) = kit.broker.workers()
    assert record.name == "w1"
    assert record.queues == ("tasks",)
    assert record.running == ((task_id, "announces", 1.5),)
    assert record.prefetched == 1
    assert not record.draining


def test_the_announcer_counts(kit: Kit) -> None:
    kit.handle("fail", lambda: 1 / 0)
    kit.enqueue()
    kit.enqueue("fail")
    kit.work()

    record = kit.worker.announcer.record()

    assert (record.processed, record.failed) == (2, 1)


def test_an_outage_keeps_no_duty_from_going_on(kit: Kit) -> None:
    kit.broker.is_down = True
    for duty in [*kit.worker.duties, kit.worker.runner.watch, *kit.worker.runner.slots]:
        for _ in range(20):
            duty.step()
    kit.broker.is_down = False

    assert kit.worker.heart.step() == pytest.approx(LEASE / 3)
    assert not kit.worker.heart.is_stopping
