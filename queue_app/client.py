"""What a program asks of the queue beside enqueueing its own functions: by type, by id, and in bulk.

Enqueues wait for COMMIT as `Task.enqueue` does; everything else happens at once, whatever transaction is open.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeAlias, Unpack

from asgiref.sync import sync_to_async

from queue_app import arguments, options
from queue_app.binding import Binding
from queue_app.conf import get_settings
from queue_app.core.answers import Asked
from queue_app.core.errors import InvalidArgument, TaskGone
from queue_app.core.names import valid_task_id, valid_task_type
from queue_app.core.showing import shown
from queue_app.delivery import deliver, enqueue_failures, prepare_here
from queue_app.options import NO_OPTIONS, Choices
from queue_app.prepared import PreparedTask
from queue_app.registry import Handler, handlers
from queue_app.results import TaskResult
from queue_app.runtime import get_broker

__all__ = [
    "acancel",
    "adelete",
    "aenqueue",
    "aenqueue_many",
    "aget",
    "arevive",
    "cancel",
    "delete",
    "enqueue",
    "enqueue_failures",
    "enqueue_many",
    "get",
    "prepare",
    "revive",
]

SLICE = 1_000
"""Tasks that `enqueue_many` hands over at once."""


class Preparable(Protocol):
    """What @task makes."""

    def prepare(self, /, *args: Any, **kwargs: Any) -> PreparedTask:
        """A task with these arguments."""
        ...


Many: TypeAlias = PreparedTask | tuple[Preparable, Sequence[Any]] | tuple[Preparable, Sequence[Any], Mapping[str, Any]]


# --- enqueue ----------------------------------------------------------------------------------------------------------


def enqueue(
    task_type: str,
    payload: bytes | None = None,
    /,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **choices: Unpack[Choices],
) -> TaskResult[Any]:
    """Enqueue a task by its type: with `payload` as its bytes, else with `args` and `kwargs`.

    Where this process has a handler of the type, its options hold unless others are given, and the arguments have to
    fit it; another process may have the handler. Raises what `enqueue` of a task does, and InvalidName for the type.
    """
    return deliver((prepare(task_type, payload, args=args, kwargs=kwargs, **choices),))[0]


def prepare(
    task_type: str,
    payload: bytes | None = None,
    /,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **choices: Unpack[Choices],
) -> PreparedTask:
    """A task by its type for `enqueue_many`. Raises what `enqueue` does at once."""
    task_type = valid_task_type(task_type)
    handler = handlers.get(task_type)
    chosen = options.choose(handler.options if handler is not None else NO_OPTIONS, choices)
    if payload is None:
        payload = _encoded(handler, tuple(args), dict(kwargs or {}))
    else:
        _check_payload(payload, has_arguments=bool(args or kwargs))
    return prepare_here(task_type, payload, chosen)


def enqueue_many(tasks: Iterable[Many]) -> list[TaskResult[Any]]:
    """Enqueue tasks in slices of 1,000, each slice in one trip per queue; a handle for each, in order.

    Each item is `task.prepare(…)`, or `(task, args)` or `(task, args, kwargs)`. Nothing of a slice is enqueued when one
    of its items cannot be; earlier slices stay enqueued. Waits for COMMIT and raises as `enqueue` does; EnqueueUnknown
    names the first task of its slice. Prepared tasks can be given again after any error: none is enqueued twice.
    """
    results: list[TaskResult[Any]] = []
    iterator = iter(tasks)
    while part := [_prepared(item) for item in islice(iterator, SLICE)]:
        results += deliver(part)
    return results


def _encoded(handler: Handler | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    if handler is not None:
        if handler.is_raw:
            raise InvalidArgument(f"{handler.task_type} is handled as bytes; give it a payload instead of args")
        Binding(handler.function, takes_context=handler.takes_context).check(args, kwargs)
    return arguments.encode(args, kwargs, get_settings().max_payload_bytes)


def _check_payload(payload: object, *, has_arguments: bool) -> None:
    if has_arguments:
        raise InvalidArgument("payload and args both say what the task is given; give one of them")
    if not isinstance(payload, bytes):
        raise InvalidArgument(f"payload={shown(payload)} is not bytes; arguments are args= and kwargs=")
    limit = get_settings().max_payload_bytes
    if len(payload) > limit:
        raise arguments.too_large("the payload", len(payload), limit)


def _prepared(item: Many) -> PreparedTask:
    match item:
        case PreparedTask():
            return item
        case (task, list() | tuple() as args):
            return task.prepare(*args)
        case (task, list() | tuple() as args, Mapping() as kwargs):
            return task.prepare(*args, **kwargs)
    raise InvalidArgument(f"{shown(item)} is neither task.prepare(…) nor (task, args) nor (task, args, kwargs)")


# --- by id ------------------------------------------------------------------------------------------------------------


def get(task_id: str) -> TaskResult[Any]:
    """The task as it is now. Raises TaskGone when the store does not know it, StoreUnavailable."""
    snapshot = get_broker().find(valid_task_id(task_id))
    if snapshot is None:
        raise TaskGone(task_id)
    return TaskResult.of(snapshot)


def cancel(task_id: str) -> Asked:
    """Cancel a task that waits, or ask a running one to end: REQUESTED, since it may still succeed first.

    Raises TaskGone (also for one that waits for COMMIT), and WrongState when it is finished.
    """
    return get_broker().cancel(valid_task_id(task_id))


def revive(task_id: str) -> None:
    """Make a dead or cancelled task ready again, with all its attempts. Raises TaskGone, WrongState."""
    get_broker().revive(valid_task_id(task_id))


def delete(task_id: str) -> Asked:
    """Remove a task for good; a running one is asked to end first: REQUESTED. Raises TaskGone."""
    return get_broker().delete(valid_task_id(task_id))


# --- for async code ---------------------------------------------------------------------------------------------------


async def aenqueue(
    task_type: str,
    payload: bytes | None = None,
    /,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **choices: Unpack[Choices],
) -> TaskResult[Any]:
    """`enqueue` for async code, on the thread that has its transactions."""
    call = partial(enqueue, task_type, payload, args=args, kwargs=kwargs, **choices)
    return await sync_to_async(call, thread_sensitive=True)()


async def aenqueue_many(tasks: Iterable[Many]) -> list[TaskResult[Any]]:
    """`enqueue_many` for async code."""
    return await sync_to_async(enqueue_many, thread_sensitive=True)(tasks)


async def aget(task_id: str) -> TaskResult[Any]:
    """`get` for async code."""
    return await sync_to_async(get, thread_sensitive=True)(task_id)


async def acancel(task_id: str) -> Asked:
    """`cancel` for async code."""
    return await sync_to_async(cancel, thread_sensitive=True)(task_id)


async def arevive(task_id: str) -> None:
    """`revive` for async code."""
    await sync_to_async(revive, thread_sensitive=True)(task_id)


async def adelete(task_id: str) -> Asked:
    """`delete` for async code."""
    return await sync_to_async(delete, thread_sensitive=True)(task_id)
