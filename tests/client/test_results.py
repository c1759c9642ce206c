"""The handle: what became of a task."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from queue_app import (
    Asked,
    InvalidArgument,
    InvalidName,
    State,
    TaskGone,
    Unencodable,
    WrongState,
    acancel,
    adelete,
    aget,
    arevive,
    cancel,
    delete,
    enqueue,
    get,
    revive,
)
from queue_app.core import policy
from queue_app.core.task import AttemptError
from queue_app.registry import handlers
from tests.client.samples import add, echo, send


def claim(store, result):
    [claimed] = store.claim(result.queue, holder="h")
    return claimed


def succeed(store, result, value):
    claimed = claim(store, result)
    encoded = handlers.find(result.task_type).encode_result(value)
    store.settle(policy.after_success(claimed, claimed.task, result=encoded, keep_seconds=60, seconds=0.1))


def die(store, result):
    claimed = claim(store, result)
    error = AttemptError(attempt=1, type="Broken", message="it broke", at=1.0, traceback="Traceback …")
    store.settle(policy.after_failure(claimed, claimed.task, error, final=True))


def test_a_task_that_waits_tells_so(store):
    result = add.using(delay=5).enqueue(1)

    assert (result.state, result.is_finished, result.finished_at, result.attempts) == (State.SCHEDULED, False, None, 0)
    assert result.enqueued_at.tzinfo is UTC
    assert abs(result.enqueued_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert repr(result) == f"<TaskResult id={result.id} type={add.task_type} queue=tasks state=scheduled>"


def test_it_shows_what_was_when_it_last_looked(store):
    result = add.enqueue(1)
    claim(store, result)

    assert result.state is State.READY
    result.refresh()
    assert result.state is State.RUNNING


async def test_async_code_looks_too(store):
    result = await add.aenqueue(1)
    claim(store, result)

    await result.arefresh()

    assert result.state is State.RUNNING


@pytest.mark.parametrize("value", [None, 5, [1, {"a": "b"}], (1, 2), Decimal("1.10")], ids=repr)
def test_what_was_returned_arrives_with_its_type(store, value):
    result = send.enqueue(1)
    succeed(store, result, value)

    result.refresh()

    assert (result.state, result.is_finished, result.attempts) == (State.SUCCEEDED, True, 1)
    assert (result.return_value, type(result.return_value)) == (value, type(value))


def test_a_result_that_could_not_be_kept_says_why(store):
    result = send.enqueue(1)
    succeed(store, result, float("nan"))
    result.refresh()

    with pytest.raises(Unencodable, match="result is nan"):
        _ = result.return_value


def test_before_success_there_is_no_result(store):
    result = add.enqueue(1)

    with pytest.raises(ValueError, match="has not succeeded: its state is ready"):
        _ = result.return_value


def test_the_end_is_told_by_the_clock_of_the_store(store, clock):
    result = send.enqueue(1)
    succeed(store, result, 1)
    result.refresh()

    assert result.finished_at.timestamp() >= clock.now()


def test_a_dead_task_tells_what_it_died_of(store):
    result = add.enqueue(1)
    die(store, result)

    result.refresh()

    assert (result.state, result.is_finished, result.attempts) == (State.DEAD, True, 1)
    assert [(each.type, each.message) for each in result.errors] == [("Broken", "it broke")]


def test_a_task_that_left_is_gone(store):
    result = add.enqueue(1)
    claimed = claim(store, result)
    store.ack(claimed.lease)

    with pytest.raises(TaskGone):
        result.refresh()


def test_arguments_of_a_raw_task_are_refused(store):
    with pytest.raises(InvalidArgument, match="the payload is no"):
        _ = enqueue("tests.raw", b"\xff").args


# --- by id ------------------------------------------------------------------------------------------------------------


def test_a_task_is_found_by_its_id(store):
    result = echo.enqueue(1, a=2)

    for found in (get(result.id), echo.get_result(result.id)):
        assert (found.id, found.state, found.args, found.kwargs) == (result.id, State.READY, [1], {"a": 2})


async def test_async_code_finds_it_too(store):
    result = echo.enqueue(1)

    assert (await aget(result.id)).id == (await echo.aget_result(result.id)).id == result.id


def test_a_task_of_another_type_is_refused(store):
    result = add.enqueue(1)

    with pytest.raises(InvalidArgument, match=f"is of the type {add.task_type}, not {send.task_type}"):
        send.get_result(result.id)


@pytest.mark.parametrize("verb", [get, cancel, revive, delete, add.get_result], ids=lambda verb: verb.__name__)
def test_what_the_store_does_not_know_is_gone_and_what_is_no_id_is_told(store, verb):
    with pytest.raises(TaskGone):
        verb("unknown")
    with pytest.raises(InvalidName, match="task id"):
        verb("a b")


def test_a_waiting_task_is_cancelled_and_a_running_one_is_asked(store):
    waiting, running = add.using(delay=5).enqueue(1), add.enqueue(2)
    claim(store, running)

    assert (cancel(waiting.id), cancel(running.id)) == (Asked.DONE, Asked.REQUESTED)
    assert get(waiting.id).state is State.CANCELLED
    with pytest.raises(WrongState):
        cancel(waiting.id)


def test_a_dead_task_is_revived_with_all_its_attempts(store):
    result = add.enqueue(1)
    die(store, result)

    revive(result.id)

    found = get(result.id)
    assert (found.state, found.attempts, len(found.errors)) == (State.READY, 0, 1)
    with pytest.raises(WrongState):
        revive(result.id)


def test_a_deleted_task_is_gone(store):
    result = add.enqueue(1)

    assert delete(result.id) is Asked.DONE
    with pytest.raises(TaskGone):
        get(result.id)


async def test_async_code_acts_too(store):
    result = add.enqueue(1)

    assert await acancel(result.id) is Asked.DONE
    await arevive(result.id)
    assert get(result.id).state is State.READY
    assert await adelete(result.id) is Asked.DONE
