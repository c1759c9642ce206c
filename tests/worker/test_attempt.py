"""From what was claimed to the outcome."""

import asyncio
import contextvars
import threading
from collections.abc import Callable

import pytest
from django.utils import timezone, translation

from queue_app.context import Context
from queue_app.core import codec
from queue_app.core.backoff import Backoff
from queue_app.core.states import State
from queue_app.core.steering import Reject, Retry, Snooze
from queue_app.core.task import Task
from queue_app.worker.batch import CANCELLED, LOST, SHUTDOWN
from tests.worker.kit import Kit, lines

MakeKit = Callable[..., Kit]


def raising(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


def test_a_task_that_returned_is_gone(kit: Kit) -> None:
    task_id = kit.enqueue()

    kit.work()

    assert kit.state(task_id) is None
    assert kit.broker.stats("tasks").totals["succeeded"] == 1


def test_a_result_is_kept_where_the_task_asks_for_it(kit: Kit) -> None:
    kit.handle("add", lambda left, right: left + right)
    task_id = kit.enqueue("add", 1, 2, keep_result=60.0)

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.SUCCEEDED
    assert snapshot.result == b"3"
    assert snapshot.task.attempts == 1


def test_a_result_that_nobody_keeps_is_not_encoded(kit: Kit) -> None:
    kit.handle("odd", object)
    task_id = kit.enqueue("odd")

    kit.work()

    assert kit.state(task_id) is None


def test_a_result_that_cannot_be_kept_is_a_failure(kit: Kit) -> None:
    kit.handle("odd", object)
    task_id = kit.enqueue("odd", keep_result=60.0)

    kit.work()

    error = kit.get(task_id).task.last_error
    assert kit.state(task_id) is State.RETRYING
    assert error is not None
    assert error.type == "TypeError"


def test_a_failure_is_stored_with_its_traceback_from_the_handler_on(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.handle("fail", raising(ValueError("no such address")))
    task_id = kit.enqueue("fail")

    kit.work()

    error = kit.get(task_id).task.last_error
    assert error is not None
    assert (error.attempt, error.type, error.message, error.worker) == (1, "ValueError", "no such address", "w1")
    assert error.at == kit.time.now()
    assert "in handler" in error.traceback
    assert "queue_app" not in error.traceback
    assert lines(caplog, "task failed") == [
        f"task failed task={task_id} type=fail queue=tasks attempt=1 error=ValueError: no such address"
    ]


def test_a_long_error_is_cut_and_says_so(kit: Kit) -> None:
    kit.handle("fail", raising(ValueError("x" * 100_000)))
    task_id = kit.enqueue("fail")

    kit.work()

    error = kit.get(task_id).task.last_error
    assert error is not None
    assert len(error.message) <= 2_000
    assert "left out" in error.message
    assert len(error.traceback) <= 16_000


def test_a_log_line_is_one_line(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.handle("fail", raising(ValueError("first\nsecond")))
    kit.enqueue("fail")

    kit.work()

    assert "\n" not in lines(caplog, "task failed")[0]


def test_an_error_that_cannot_be_told_is_told_all_the_same(kit: Kit) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    kit.handle("fail", raising(Mute()))
    task_id = kit.enqueue("fail")

    kit.work()

    error = kit.get(task_id).task.last_error
    assert error is not None
    assert error.message == "<no text: RuntimeError>"


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()])
def test_an_exit_that_a_handler_raises_is_a_failure_of_the_task(kit: Kit, error: BaseException) -> None:
    kit.handle("exit", raising(error))
    task_id, after = kit.enqueue("exit"), kit.enqueue()

    kit.work()

    assert kit.state(task_id) is State.RETRYING
    assert kit.ran == [after]


def test_the_last_failure_is_death(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.handle("fail", raising(ValueError("no")))
    task_id = kit.enqueue("fail", max_retries=-1)

    kit.work()

    assert kit.state(task_id) is State.DEAD
    assert lines(caplog, "task died") == [
        f"task died task={task_id} type=fail queue=tasks attempt=1 error=ValueError: no"
    ]
    assert caplog.records[-1].levelname == "ERROR"


# --- steering -------------------------------------------------------------------------------------------------------


def test_retry_after_sets_the_wait_and_counts(kit: Kit) -> None:
    kit.handle("later", raising(Retry(after=30)))
    task_id = kit.enqueue("later")

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.RETRYING
    assert snapshot.at == kit.time.now() + 30
    assert snapshot.task.attempts == 1


def test_retry_without_a_time_leaves_the_wait_to_the_backoff(kit: Kit) -> None:
    kit.handle("later", raising(Retry()))
    task_id = kit.enqueue("later", backoff=Backoff(kind="fixed", base=7.0, jitter=0.0))

    kit.work()

    assert kit.get(task_id).at == kit.time.now() + 7


def test_retry_does_not_go_beyond_the_budget(kit: Kit) -> None:
    kit.handle("later", raising(Retry(after=30)))
    task_id = kit.enqueue("later", max_retries=-1)

    kit.work()

    assert kit.state(task_id) is State.DEAD


def test_snooze_sets_the_wait_and_does_not_count(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    kit.handle("early", raising(Snooze(after=30)))
    task_id = kit.enqueue("early", max_retries=-1)

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.SCHEDULED
    assert snapshot.at == kit.time.now() + 30
    assert snapshot.task.attempts == 0
    assert kit.slot.failed == 0
    assert not caplog.records


def test_reject_is_death_at_once(kit: Kit) -> None:
    kit.handle("no", raising(Reject("the address does not exist")))
    task_id = kit.enqueue("no")

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.DEAD
    assert snapshot.task.last_error is not None
    assert snapshot.task.last_error.message == "the address does not exist"


# --- backoff --------------------------------------------------------------------------------------------------------


def test_the_stored_rule_decides(kit: Kit) -> None:
    kit.handle("fail", raising(ValueError()))
    task_id = kit.enqueue("fail", backoff=Backoff(kind="list", delays=(3.0, 5.0)))

    waits = []
    for _ in range(3):
        kit.work()
        at = kit.get(task_id).at
        assert at is not None
        waits.append(at - kit.time.now())
        kit.time.advance(waits[-1])
        kit.broker.promote("tasks")

    assert waits == [3.0, 5.0, 5.0]


def test_the_handlers_callable_overrides_the_stored_rule(kit: Kit) -> None:
    kit.handle("fail", raising(ValueError("x")), backoff=lambda attempt, error: attempt * 100 + len(str(error)))
    task_id = kit.enqueue("fail")

    kit.work()

    assert kit.get(task_id).at == kit.time.now() + 101


@pytest.mark.parametrize("broken", [lambda *_: 1 / 0, lambda *_: "soon", lambda *_: float("nan")])
def test_a_callable_that_fails_leaves_the_wait_to_the_stored_rule(
    kit: Kit, caplog: pytest.LogCaptureFixture, broken: Callable[..., float]
) -> None:
    kit.handle("fail", raising(ValueError()), backoff=broken)
    task_id = kit.enqueue("fail", backoff=Backoff(kind="fixed", base=7.0, jitter=0.0))

    kit.work()

    assert kit.get(task_id).at == kit.time.now() + 7
    assert lines(caplog, "backoff callable failed")


# --- bodies ---------------------------------------------------------------------------------------------------------


def test_a_task_that_is_too_old_to_start_is_cancelled(kit: Kit) -> None:
    task_id = kit.enqueue(expires_at=kit.time.now() + 5)
    kit.time.advance(5)

    kit.work()

    snapshot = kit.get(task_id)
    assert kit.ran == []
    assert snapshot.state is State.CANCELLED
    assert snapshot.task.cancel_reason == "expired"
    assert snapshot.task.attempts == 0


def test_a_task_that_can_still_start_is_run(kit: Kit) -> None:
    task_id = kit.enqueue(expires_at=kit.time.now() + 5)
    kit.time.advance(4.9)

    kit.work()

    assert kit.ran == [task_id]


def test_a_body_of_a_newer_version_waits_for_a_newer_worker(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    task_id = kit.enqueue(schema=99, max_retries=-1)

    kit.work()

    assert kit.state(task_id) is State.SCHEDULED
    assert lines(caplog, "task is too new for this worker")


def test_payload_that_the_handler_cannot_decode_is_a_failure(kit: Kit) -> None:
    task_id = kit.enqueue("noop")
    kit.handle("noop", lambda: None)

    kit.work()

    assert kit.state(task_id) is State.RETRYING


# --- being told to stop -----------------------------------------------------------------------------------------------


def cancelled_by(kit: Kit, reason: str, then: Callable[[], None]) -> str:
    """Run a task that is marked while it runs, and then does something. Returns its id."""

    def handler(context: Context) -> None:
        assert not context.cancelled
        batch = kit.slot.batch
        assert batch is not None
        kit.slot.mark(batch, context.id, reason)
        assert context.cancelled
        assert context.cancel_reason == reason
        then()

    kit.handle("told", handler, takes_context=True)
    task_id = kit.enqueue("told")
    kit.work()
    return task_id


def test_a_handler_that_ends_because_it_was_cancelled_ends_cancelled(kit: Kit) -> None:
    task_id = cancelled_by(kit, CANCELLED, raising(ValueError()))

    assert kit.state(task_id) is State.CANCELLED
    assert kit.get(task_id).task.attempts == 1


def test_a_handler_that_succeeds_before_it_hears_of_its_cancel_has_succeeded(kit: Kit) -> None:
    task_id = cancelled_by(kit, CANCELLED, lambda: None)

    assert kit.state(task_id) is None


@pytest.mark.parametrize("then", [raising(ValueError()), lambda: None])
def test_the_outcome_of_a_lost_lease_is_dropped(
    kit: Kit, caplog: pytest.LogCaptureFixture, then: Callable[[], None]
) -> None:
    task_id = cancelled_by(kit, LOST, then)

    assert kit.state(task_id) is State.RUNNING
    assert lines(caplog, "outcome dropped, lease lost")


def test_a_handler_that_a_shutdown_cuts_off_is_released(kit: Kit) -> None:
    told: list[str] = []

    def handler(context: Context) -> None:
        told.append(context.cancel_reason)
        if len(told) == 1:
            batch = kit.slot.batch
            assert batch is not None
            kit.slot.mark(batch, context.id, SHUTDOWN)
            context.raise_if_cancelled()

    kit.handle("told", handler, takes_context=True)
    task_id = kit.enqueue("told", max_retries=-1)
    kit.work()

    assert len(told) == 2
    assert kit.state(task_id) is None


def test_a_mark_that_came_just_before_the_handler_is_not_missed(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons: list[str] = []
    kit.handle("told", lambda context: reasons.append(context.cancel_reason), takes_context=True)
    kit.enqueue("told")
    real = codec.decode

    def decode(body: bytes, task_id: str | None = None) -> Task:
        batch = kit.slot.batch
        if batch is not None and task_id is not None:
            kit.slot.mark(batch, task_id, CANCELLED)
        return real(body, task_id)

    monkeypatch.setattr(codec, "decode", decode)
    kit.slot.cycle()

    assert reasons == [CANCELLED]


# --- async ------------------------------------------------------------------------------------------------------------


def test_an_async_handler_runs_on_the_lane(kit: Kit) -> None:
    async def handler(name: str) -> None:
        await asyncio.sleep(0)
        kit.ran.append((name, threading.current_thread().name))

    kit.handle("hello", handler, is_async=True)
    task_id = kit.enqueue("hello", "you")

    kit.work()

    assert kit.ran == [("you", "forgequeue-async")]
    assert kit.state(task_id) is None
    kit.worker.runner.lane.close()


def test_an_async_handler_fails_as_any_other(kit: Kit) -> None:
    async def handler() -> None:
        await asyncio.sleep(0)
        raise ValueError("async")

    kit.handle("fail", handler, is_async=True)
    task_id = kit.enqueue("fail")

    kit.work()

    error = kit.get(task_id).task.last_error
    assert error is not None
    assert error.message == "async"
    assert "in handler" in error.traceback
    assert "queue_app" not in error.traceback
    kit.worker.runner.lane.close()


def test_an_async_handler_is_cancelled_at_its_next_await(kit: Kit) -> None:
    cleaned: list[bool] = []

    async def handler(context: Context) -> None:
        batch = kit.slot.batch
        assert batch is not None
        kit.slot.mark(batch, context.id, CANCELLED)
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(context.cancelled)

    kit.handle("sleep", handler, is_async=True, takes_context=True)
    task_id = kit.enqueue("sleep")

    kit.work()

    assert cleaned == [True]
    assert kit.state(task_id) is State.CANCELLED
    kit.worker.runner.lane.close()


# --- nothing leaks from one task to the next ------------------------------------------------------------------------


def test_language_time_zone_and_context_variables_end_with_the_attempt(kit: Kit) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="default")
    seen: list[tuple[str, str, str]] = []

    def handler() -> None:
        seen.append((translation.get_language() or "", timezone.get_current_timezone_name(), variable.get()))
        translation.activate("de")
        timezone.activate("Asia/Kathmandu")
        variable.set("changed")

    kit.handle("changes", handler)
    for _ in range(2):
        kit.enqueue("changes")

    kit.work()

    assert seen[0] == seen[1]
    assert seen[0][2] == "default"


def test_each_task_has_a_line_where_that_is_asked_for(make_kit: MakeKit, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "forgequeue")
    kit = make_kit(log_each_task=True)
    task_id = kit.enqueue()

    kit.work()

    assert lines(caplog, "task succeeded") == [
        f"task succeeded task={task_id} type=noop queue=tasks attempt=1 seconds=0.000"
    ]


def test_without_that_a_success_says_nothing(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "forgequeue")
    kit.enqueue()

    kit.work()

    assert not caplog.records
