"""A slot: exchange, run, exchange again; and what it does when the store does not play along."""

from collections.abc import Callable
from typing import Any

import pytest

from queue_app.core.answers import Standing
from queue_app.core.errors import StoreRefused, StoreUnavailable
from queue_app.core.states import State
from queue_app.worker.batch import CANCELLED, LOST
from queue_app.worker.slot import HELD_UP_SECONDS
from tests.worker.kit import LEASE, Kit, lines

MakeKit = Callable[..., Kit]


def exchanges(kit: Kit) -> list[dict[str, Any]]:
    """The exchanges that were sent, with their queue."""
    return [{"queue": arguments[0]} | options for verb, arguments, options in kit.broker.calls if verb == "exchange"]


def test_a_batch_is_settled_by_the_exchange_that_claims_the_next(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    ids = [kit.enqueue() for _ in range(4)]

    kit.work()

    assert kit.ran == ids
    assert [len(each["outcomes"]) for each in exchanges(kit)] == [0, 2, 2]
    assert all(kit.state(each) is None for each in ids)


def test_tasks_run_in_the_order_of_the_queue_larger_priorities_first(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=10)
    last, first, second = kit.enqueue(priority=-1), kit.enqueue(priority=5), kit.enqueue(priority=5)
    middle = kit.enqueue()

    kit.work()

    assert kit.ran == [first, second, middle, last]


def test_a_claim_whose_reply_was_lost_is_sent_again_and_brings_the_same_tasks(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    ids = [kit.enqueue() for _ in range(3)]
    kit.broker.fail_next("exchange", after=True)

    with pytest.raises(StoreUnavailable):
        kit.slot.cycle()
    kit.slot.cycle()

    assert kit.ran == ids[:2]
    first, second = exchanges(kit)
    assert first == second


def test_outcomes_whose_reply_was_lost_are_delivered_again_and_no_task_runs_twice(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    ids = [kit.enqueue() for _ in range(4)]
    kit.slot.cycle()
    kit.broker.fail_next("exchange", after=True)
    with pytest.raises(StoreUnavailable):
        kit.slot.cycle()

    kit.work()

    assert kit.ran == ids
    assert all(kit.state(each) is None for each in ids)


def test_outcomes_are_kept_however_long_the_store_is_away(kit: Kit) -> None:
    task_id = kit.enqueue()
    kit.slot.cycle()
    kit.broker.is_down = True
    for _ in range(50):
        assert kit.slot.step() > 0
    kit.broker.is_down = False

    kit.work()

    assert kit.ran == [task_id]
    assert kit.state(task_id) is None


def test_what_the_lease_no_longer_covers_is_not_started(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=3)
    kit.handle("slow", lambda seconds: (kit.ran.append("slow"), kit.time.advance(seconds)))
    slow, waiting = kit.enqueue("slow", LEASE + 1), kit.enqueue()

    kit.slot.cycle()

    assert kit.ran == ["slow"]
    kit.worker.reclaimer.run_once()
    kit.work()
    assert kit.state(slow) is State.RETRYING
    assert kit.get(waiting).task.attempts == 1


def test_an_outcome_that_came_too_late_changes_nothing_and_is_told(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    task_id = kit.enqueue()
    kit.slot.cycle()
    kit.time.advance(LEASE + 1)
    kit.worker.reclaimer.run_once()
    kit.time.advance(2)
    kit.broker.promote("tasks")
    (newer,) = kit.broker.claim("tasks", holder="w2:0")

    kit.work()

    assert kit.state(task_id) is State.RUNNING
    assert newer.task.attempt == 2
    assert lines(caplog, "outcome dropped") == [
        f"outcome dropped, lease lost task={task_id} queue=tasks outcome=Succeeded"
    ]


def test_an_abandoned_holder_goes_on_under_a_new_name(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.broker.abandon("tasks", ["w1:0"])
    task_id = kit.enqueue()

    kit.work()

    assert kit.ran == [task_id]
    assert kit.slot.holder == "w1:0.1"
    assert lines(caplog, "holder goes on under another name")


def test_what_a_defect_of_ours_broke_off_is_not_renewed_and_the_others_run(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = make_kit(batch_size=3)
    first, broken, last = (kit.enqueue() for _ in range(3))
    real, calls = kit.slot._attempts.run, []

    def run(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise RuntimeError("a defect of ours")
        return real(*arguments)

    monkeypatch.setattr(kit.slot._attempts, "run", run)
    with pytest.raises(RuntimeError):
        kit.slot.cycle()

    kit.work()

    assert kit.ran == [first, last]
    assert kit.state(broken) is State.RUNNING
    assert kit.slot.holder not in kit.broker.held("tasks", ["w1:0", kit.slot.holder])
    assert kit.broker.heartbeat("tasks", [kit.slot.holder]).held == {}


def test_a_long_run_of_dead_entries_is_no_reason_to_wait(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    task_id = kit.enqueue()
    real = kit.broker.exchange
    answers: list[Any] = []

    def exchange(*arguments: Any, **options: Any) -> Any:
        answer = real(*arguments, **options) if answers else kit.broker.exchange_more(*arguments)
        answers.append(answer)
        return answer

    from queue_app.core.answers import Exchange

    monkeypatch.setattr(
        kit.broker, "exchange_more", lambda *_: Exchange(now=kit.time.now(), standing=Standing.MORE), raising=False
    )
    monkeypatch.setattr(kit.broker, "exchange", exchange, raising=False)

    kit.slot.cycle()

    assert kit.ran == [task_id]


# --- several queues -------------------------------------------------------------------------------------------------


def test_an_empty_queue_gives_its_turn_to_the_next(make_kit: MakeKit) -> None:
    kit = make_kit(queues=(("a", 6), ("b", 3), ("c", 1)))
    task_id = kit.enqueue(queue="c")

    kit.work()

    assert kit.ran == [task_id]


def test_outcomes_of_one_queue_travel_with_the_claim_of_another(make_kit: MakeKit) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)), strict=True)
    first, second = kit.enqueue(queue="a"), kit.enqueue(queue="b")
    kit.slot.cycle()
    kit.time.advance(1)

    kit.slot.cycle()
    kit.slot.cycle()

    assert kit.ran == [first, second]
    assert kit.state(first) is None
    assert kit.state(second) is None


def test_one_queue_that_the_store_refuses_does_not_stop_the_others(
    make_kit: MakeKit, caplog: pytest.LogCaptureFixture
) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)), strict=True)
    kit.enqueue(queue="a")
    other = kit.enqueue(queue="b")
    kit.broker.fail_next("exchange", StoreRefused("queue:a:inflight is a string, not a zset"))

    kit.slot.cycle()

    assert kit.ran == [other]
    assert lines(caplog, "store refused") == [
        "store refused queue=a duty=slot-0 error=queue:a:inflight is a string, not a zset"
    ]


def test_the_refused_exchange_is_repeated_when_its_queue_has_been_left_alone(make_kit: MakeKit) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)), strict=True)
    refused = kit.enqueue(queue="a")
    kit.broker.fail_next("exchange", StoreRefused("full"))
    assert not kit.slot.cycle()
    kit.time.advance(2)

    kit.work()

    assert kit.ran == [refused]
    tokens = [each["token"] for each in exchanges(kit) if each["queue"] == "a"]
    assert tokens[0] == tokens[1]


def test_outcomes_that_one_queue_refuses_are_kept_while_the_other_goes_on(make_kit: MakeKit) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)))
    first, second = kit.enqueue(queue="a"), kit.enqueue(queue="b")
    kit.slot.cycle()
    # The outcome of `first` travels with the claim of whatever comes next; then each queue is asked by itself.
    for _ in range(2):
        kit.broker.fail_next("exchange", StoreRefused("full"))

    kit.slot.cycle()
    assert kit.ran == [first, second]
    assert kit.state(first) is State.RUNNING
    kit.time.advance(2)
    kit.work()

    assert kit.state(first) is None
    assert kit.state(second) is None


# --- handing back ---------------------------------------------------------------------------------------------------


def test_what_waits_behind_a_slow_task_is_handed_back_uncounted(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=4)
    ids: list[str] = []

    def slow() -> None:
        kit.time.advance(HELD_UP_SECONDS + 0.1)
        kit.worker.runner.watch.run_once()
        assert [kit.state(each) for each in ids[2:]] == [State.READY, State.READY]

    kit.handle("slow", slow)
    ids += [kit.enqueue(), kit.enqueue("slow"), kit.enqueue(), kit.enqueue()]

    kit.slot.cycle()

    assert kit.ran == [ids[0]]
    assert kit.get(ids[2]).task.attempts == 0


def test_a_finished_task_does_not_wait_behind_a_slow_one_for_its_ack(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=4)
    seen: list[State | None] = []

    def slow(first: str) -> None:
        kit.time.advance(HELD_UP_SECONDS + 0.1)
        kit.worker.runner.watch.run_once()
        seen.append(kit.state(first))

    kit.handle("slow", slow)
    first = kit.enqueue()
    kit.enqueue("slow", first)

    kit.work()

    assert seen == [None]


def test_nothing_is_handed_back_while_tasks_are_quick(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=4)
    kit.handle("quick", lambda: (kit.time.advance(0.2), kit.worker.runner.watch.run_once()))
    for _ in range(4):
        kit.enqueue("quick")

    kit.work()

    assert kit.broker.stats("tasks").totals.get("released", 0) == 0


def test_a_hand_back_that_the_store_did_not_hear_is_repeated(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    waiting: list[str] = []

    def slow() -> None:
        kit.time.advance(HELD_UP_SECONDS + 0.1)
        kit.broker.fail_next("exchange")
        kit.worker.runner.watch.step()
        assert kit.state(waiting[0]) is State.RUNNING
        kit.worker.runner.watch.step()
        assert kit.state(waiting[0]) is State.READY

    kit.handle("slow", slow)
    kit.enqueue("slow")
    waiting.append(kit.enqueue())

    kit.slot.cycle()

    assert kit.ran == []


def test_a_pause_hands_back_what_has_not_been_started(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=3)

    def pausing() -> None:
        kit.broker.pause("tasks")
        kit.worker.heart.run_once()
        kit.worker.runner.watch.run_once()

    kit.handle("pausing", pausing)
    kit.enqueue("pausing")
    waiting = kit.enqueue()

    kit.work()

    assert kit.ran == []
    assert kit.state(waiting) is State.READY
    kit.broker.resume("tasks")
    kit.work()
    assert kit.ran == [waiting]


# --- marks ----------------------------------------------------------------------------------------------------------


def test_a_task_that_was_lost_before_it_started_is_not_started(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    waiting: list[str] = []

    def marks() -> None:
        batch = kit.slot.batch
        assert batch is not None
        kit.slot.mark(batch, waiting[0], LOST)

    kit.handle("marks", marks)
    kit.enqueue("marks")
    waiting.append(kit.enqueue())

    kit.work()

    assert kit.ran == []


def test_a_task_that_was_cancelled_before_it_started_ends_cancelled(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=2)
    waiting: list[str] = []

    def cancels() -> None:
        kit.broker.cancel(waiting[0])
        kit.worker.heart.run_once()

    kit.handle("cancels", cancels)
    kit.enqueue("cancels")
    waiting.append(kit.enqueue())

    kit.work()

    assert kit.ran == []
    assert kit.state(waiting[0]) is State.CANCELLED
    assert kit.get(waiting[0]).task.attempts == 0


def test_a_defect_of_ours_breaks_off_one_task_and_not_the_rest_of_its_batch(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = make_kit(batch_size=3)
    ids = [kit.enqueue() for _ in range(3)]
    real = kit.worker.runner.attempts.run

    def run(claimed: Any, *rest: Any) -> Any:
        if claimed.lease.task_id == ids[1]:
            raise KeyError("defect")
        return real(claimed, *rest)

    monkeypatch.setattr(kit.worker.runner.attempts, "run", run)
    kit.slot.step()
    kit.work()

    assert kit.ran == [ids[0], ids[2]]
    kit.time.advance(LEASE + 1)
    kit.worker.reclaimer.run_once()
    assert kit.state(ids[1]) is State.RETRYING


def test_marks_have_names() -> None:
    assert {CANCELLED, LOST} == {"cancelled", "lost"}
