"""What a handler does to itself it does not do to its worker, nor to the tasks of others."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from queue_app.core.states import State
from tests.worker.kit import Kit


class BadText(Exception):
    """An error whose text is an exit."""

    def __str__(self) -> str:
        raise SystemExit(3)


def raises(error: BaseException) -> Callable[[], NoReturn]:
    def handler() -> NoReturn:
        raise error

    return handler


@pytest.mark.parametrize("error", [ValueError(os.fsdecode(b"/tmp/\xff")), BadText()], ids=["half a surrogate", "text"])
def test_an_error_that_cannot_be_written_down_is_a_failure_like_any_other(kit: Kit, error: BaseException) -> None:
    kit.handle("fail", raises(error))
    task_id, after = kit.enqueue("fail"), kit.enqueue()

    kit.work()

    task = kit.get(task_id).task
    assert kit.state(task_id) is State.RETRYING
    assert task.last_error is not None
    assert task.last_error.type == type(error).__name__
    assert kit.ran == [after]


def test_what_breaks_an_attempt_off_costs_the_attempt_and_nothing_else(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    task_id, after = kit.enqueue("noop", id="broken"), kit.enqueue()
    succeeded = kit.worker.runner.attempts._succeeded

    def break_off(claimed: Any, *rest: Any) -> Any:
        if claimed.lease.task_id == "broken":
            raise RuntimeError("a defect of ours")
        return succeeded(claimed, *rest)

    monkeypatch.setattr(kit.worker.runner.attempts, "_succeeded", break_off)

    kit.work()

    task = kit.get(task_id).task
    assert kit.state(task_id) is State.RETRYING
    assert (task.attempts, task.last_error and task.last_error.type) == (1, "RuntimeError")
    assert kit.ran == ["broken", after]
    assert "attempt broke off task=broken" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_an_exit_out_of_an_async_handler_ends_that_attempt_only(kit: Kit, error: BaseException) -> None:
    async def exits() -> None:
        await asyncio.sleep(0)
        raise error

    async def healthy() -> None:
        await asyncio.sleep(0)
        kit.ran.append("healthy")

    kit.handle("exits", exits, is_async=True)
    kit.handle("healthy", healthy, is_async=True)
    task_id = kit.enqueue("exits")
    kit.enqueue("healthy")

    kit.work()

    assert kit.state(task_id) is State.RETRYING
    assert kit.ran == ["healthy"]
    kit.worker.runner.lane.close()


def test_an_async_handler_that_stops_the_loop_stops_nobody(kit: Kit) -> None:
    async def stops() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        kit.ran.append("went on")

    kit.handle("stops", stops, is_async=True)
    task_ids = [kit.enqueue("stops"), kit.enqueue("stops")]

    kit.work()

    assert [kit.state(task_id) for task_id in task_ids] == [None, None]
    assert kit.ran == ["went on"] * 2
    kit.worker.runner.lane.close()


def test_a_visitor_of_a_lane_that_has_closed_can_still_be_told(kit: Kit) -> None:
    kit.enqueue()
    (claimed,) = kit.broker.claim("tasks", holder="w")
    told: list[str] = []
    visit = kit.worker.runner.lane.visit(claimed.lease, told.append)
    kit.worker.runner.lane.close()

    visit.stop("shutdown")

    assert told == ["shutdown"]


def test_attempts_are_counted_beside_a_foreign_number_of_any_length(kit: Kit) -> None:
    kit.handle("fail", raises(ValueError()))
    task_id = kit.enqueue("fail")
    (claimed,) = kit.broker.claim("tasks", holder="w")
    huge = claimed.body[:-1] + b',"theirs":' + b"1" * 5000 + b"}"
    kit.broker.retry(claimed.lease, huge, delay_seconds=0.0)
    kit.broker.promote("tasks")

    kit.work()

    assert kit.get(task_id).task.attempts == 1
    assert b"1" * 5000 in kit.get(task_id).body


def test_attempts_below_nothing_count_from_nothing(kit: Kit) -> None:
    kit.handle("fail", raises(ValueError()))
    task_id = kit.enqueue("fail", attempts=-1_000_000, max_retries=-1)

    kit.work()

    assert kit.state(task_id) is State.DEAD
