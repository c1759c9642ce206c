"""One attempt where the caller is, without a store: the EAGER setting, and tests.

The arguments make the same way through bytes as on their way to a worker. There are no limits, no lease and no wait:
what failed and has attempts left is `retrying`, and stays so.
"""

import contextvars
import time
import traceback
from typing import Any

from asgiref.sync import async_to_sync

from queue_app.context import Context
from queue_app.core import codec, policy
from queue_app.core.answers import Snapshot
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Snoozed, Spent, Succeeded
from queue_app.core.states import State
from queue_app.core.steering import Reject, Retry, Snooze
from queue_app.core.task import AttemptError, Task
from queue_app.registry import Handler, handlers

WORKER = "eager"


def run(task: Task) -> Snapshot:
    """The task after one attempt at it. Raises nothing that its handler raises: that is in `errors`."""
    claimed = Claimed(Lease(task.id, task.queue, WORKER), codec.encode(task))
    outcome = attempt(claimed, keep_seconds=1.0)
    state, body, delay, result = _end(outcome, claimed)
    return Snapshot(id=task.id, queue=task.queue, state=state, body=body, at=time.time() + delay, result=result)


def attempt(claimed: Claimed, *, keep_seconds: float | None = None, now: float | None = None) -> Outcome:
    """Run one claimed task on this thread. `keep_seconds` overrides how long the task wants its result kept."""
    task, now = claimed.task, time.time() if now is None else now
    if task.expires_at is not None and task.expires_at <= now:
        return policy.after_cancel(claimed, task, "expired", started=False)
    keep_seconds = task.keep_result if keep_seconds is None else keep_seconds
    try:
        handler = handlers.find(task.task_type)
        # A copy of the context: a language that the handler activates ends with it.
        value = contextvars.copy_context().run(_call, handler, task)
    except Snooze as snooze:
        return Snoozed(lease=claimed.lease, delay_seconds=snooze.after)
    except Exception as error:  # noqa: BLE001 - whatever the handler raises is the attempt's end, as in a worker
        return policy.after_failure(
            claimed,
            task,
            _told(task, error, now),
            delay_seconds=error.after if isinstance(error, Retry) else None,
            final=isinstance(error, Reject),
        )
    return policy.after_success(
        claimed, task, result=handler.encode_result(value), keep_seconds=keep_seconds, seconds=0.0
    )


def _call(handler: Handler, task: Task) -> Any:
    context = Context(task, WORKER) if handler.takes_context else None
    return async_to_sync(_await)(handler, task, context) if handler.is_async else handler.call(task, context)


async def _await(handler: Handler, task: Task, context: Context | None) -> Any:
    return await handler.call(task, context)


def _told(task: Task, error: Exception, now: float) -> AttemptError:
    return AttemptError(
        attempt=task.attempt,
        type=type(error).__qualname__,
        message=policy.cut(policy.text_of(error), policy.MESSAGE_LIMIT),
        at=now,
        traceback=policy.cut("".join(traceback.format_exception(error)), policy.TRACEBACK_LIMIT),
        worker=WORKER,
    )


def _end(outcome: Outcome, claimed: Claimed) -> tuple[State, bytes, float, bytes | None]:
    """State, body, seconds until it is due, and result."""
    match outcome:
        case Succeeded(body=body, result=result):
            return State.SUCCEEDED, body, 0.0, result
        case Failed(body=body, delay_seconds=delay):
            return State.RETRYING, body, delay, None
        case Snoozed(delay_seconds=delay):
            return State.SCHEDULED, claimed.body, delay, None
        case Spent(body=body):
            return State.DEAD, body, 0.0, None
        case Cancelled(body=body):
            return State.CANCELLED, body, 0.0, None
    raise TypeError(f"{type(outcome).__name__} is no end of an attempt")
