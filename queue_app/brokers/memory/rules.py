"""What is checked before a verb begins, and made of bodies on the way. Nothing of it asks the store."""

from collections.abc import Iterable

from queue_app.core import codec
from queue_app.core.answers import Enqueue, Snapshot
from queue_app.core.errors import UndecodableBody
from queue_app.core.showing import shown
from queue_app.core.states import State
from queue_app.core.task import Task


def due_time(entry: Enqueue, now: float) -> float:
    """When the task may run; a given time comes before a delay."""
    return entry.due_at if entry.due_at is not None else now + max(entry.delay_seconds, 0.0)


def fingerprint(task: Task) -> tuple[str, bytes]:
    """What a repeat under the same idempotency key must have in common: type and payload."""
    return task.task_type, task.payload or b""


def generation_of(task: Task) -> int:
    """Which generation of its key the id was derived from; the client notes it in the headers."""
    return int(task.headers.get("forgequeue-key-generation", "0"))


def revived(snapshot: Snapshot) -> tuple[bytes, int]:
    """The body of a task that gets a new budget, attempts reset and errors kept; and its priority.

    A body that cannot be read stays as it is.
    """
    try:
        task = snapshot.task
    except UndecodableBody:
        return snapshot.body, 0
    return codec.amend(snapshot.body, attempts=0, revived=task.revived + 1, cancel_reason=None), task.priority


def purgeable(include: Iterable[State]) -> set[State]:
    """Ready and the states that a purge may take beside it; ValueError for any other."""
    wanted = {State(state) for state in include}
    wrong = sorted(state for state in wanted if not state.is_waiting)
    if wrong:
        raise ValueError(f"a purge takes ready, scheduled and retrying tasks, not {', '.join(wrong)}")
    return wanted | {State.READY}


def offset_of(cursor: str | None) -> int:
    """How far a cursor is into its list; ValueError for one that was not given by list_tasks."""
    if cursor is None:
        return 0
    if not isinstance(cursor, str) or not cursor.isdecimal() or len(cursor) > 15:
        raise ValueError(f"{shown(cursor, 40)} is no cursor")
    return int(cursor)
