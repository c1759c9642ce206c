"""What follows from the end of an attempt: the outcome, and the body that goes with it."""

import msgspec

from queue_app.core import codec
from queue_app.core.errors import NewerSchema, UndecodableBody
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Snoozed, Spent, Succeeded
from queue_app.core.task import AttemptError, Task

ERRORS_KEPT = 5
"""A body carries the last few errors; the journal, where there is one, has them all."""
MESSAGE_LIMIT = 2_000
TRACEBACK_LIMIT = 16_000
"""Characters. A longer text is cut in the middle and says so: its two ends tell the most."""
NEWER_SCHEMA_DELAY_SECONDS = 60.0


def note(task: Task, seconds: float) -> bytes:
    """The line of the recent list: id, type, attempt and seconds, as a JSON array."""
    return msgspec.json.encode((task.id, task.task_type, task.attempt, round(seconds, 6)))


def after_failure(
    claimed: Claimed,
    task: Task,
    error: AttemptError,
    *,
    delay_seconds: float | None = None,
    final: bool = False,
    seconds: float = 0.0,
) -> Outcome:
    """Failed while the budget lasts, else Spent; Spent at once when `final`. The attempt counts.

    `delay_seconds` overrides the task's own backoff.
    """
    body = codec.amend(claimed.body, attempts=task.attempt, errors=with_error(task, error))
    if final or task.is_last_attempt:
        return Spent(lease=claimed.lease, body=body, note=note(task, seconds))
    if delay_seconds is None:
        delay_seconds = task.backoff_rule.delay_seconds(task.attempt)
    return Failed(lease=claimed.lease, body=body, delay_seconds=delay_seconds)


def after_success(claimed: Claimed, task: Task, *, result: bytes, keep_seconds: float, seconds: float) -> Outcome:
    """Succeeded; the body travels only where a record of it is kept."""
    if keep_seconds <= 0.0:
        return Succeeded(lease=claimed.lease, note=note(task, seconds))
    body = codec.amend(claimed.body, attempts=task.attempt)
    return Succeeded(lease=claimed.lease, note=note(task, seconds), result=result, keep_seconds=keep_seconds, body=body)


def after_cancel(claimed: Claimed, task: Task, reason: str, *, started: bool, seconds: float = 0.0) -> Outcome:
    """Cancelled; the attempt counts only when it had `started`."""
    attempts = task.attempt if started else task.attempts
    body = codec.amend(claimed.body, attempts=attempts, cancel_reason=reason)
    return Cancelled(lease=claimed.lease, body=body, note=note(task, seconds))


def after_undecodable(claimed: Claimed, error: UndecodableBody) -> Outcome:
    """Dead at once, its bytes kept as they are: nobody can count attempts in a body that cannot be read. One of a newer
    version waits for a worker that can read it: during an upgrade both are about."""
    if isinstance(error, NewerSchema):
        return Snoozed(lease=claimed.lease, delay_seconds=NEWER_SCHEMA_DELAY_SECONDS)
    return Spent(lease=claimed.lease, body=claimed.body)


def after_lost_worker(claimed: Claimed, *, at: float, worker: str = "") -> Outcome:
    """What a reclaimer decides: the worker is gone, nobody knows how far it came, so the attempt counts."""
    try:
        task = claimed.task
    except UndecodableBody as unreadable:
        return after_undecodable(claimed, unreadable)
    error = AttemptError(
        attempt=task.attempt, type="LeaseExpired", message="the worker stopped renewing its lease", at=at, worker=worker
    )
    return after_failure(claimed, task, error)


def with_error(task: Task, error: AttemptError) -> tuple[AttemptError, ...]:
    """The task's errors with one more: the last few, of which only the newest has a traceback."""
    older = tuple(msgspec.structs.replace(each, traceback="") for each in task.errors[-ERRORS_KEPT + 1 :])
    return (*older, error)


def text_of(error: BaseException) -> str:
    """What an error says, fit to be stored and logged. Raises nothing: its words are somebody's code."""
    try:
        # Half a surrogate pair, as in a file name that is no UTF-8, can be neither stored nor logged.
        return str(error).encode("utf-8", "backslashreplace").decode()
    except BaseException as another:  # noqa: BLE001 - see above
        return f"<no text: {type(another).__name__}>"


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, the middle left out with a mark."""
    if len(text) <= limit:
        return text
    mark = "\n… {} characters left out …\n"
    half = (limit - len(mark) - len(str(len(text)))) // 2
    if half <= 0:
        return text[:limit]
    return text[:half] + mark.format(len(text) - 2 * half) + text[-half:]
