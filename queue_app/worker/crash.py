"""What becomes of the tasks of a runner that is gone.

By the store's word about what its slots held, and by the board's about how far they had come: what had ended well is
acked, what was running is told why it was broken off, and what had not been started is not touched: it is released when
the names of the slots are closed.
"""

import os
from collections.abc import Callable, Sequence

from queue_app.core import policy
from queue_app.core.answers import Held
from queue_app.core.errors import UndecodableBody
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Outcome, Succeeded
from queue_app.core.task import AttemptError
from queue_app.worker.board import Status, View

RUNNER_DIED = "RunnerDied"
HARD_TIME_LIMIT = "HardTimeLimit"

BrokenOff = Callable[[Claimed], Outcome | None]
"""The outcome of a task whose handler was running; None releases it, uncounted."""


def outcomes_of(view: View | None, held: Held, claimed: Sequence[Claimed], broken_off: BrokenOff) -> list[Outcome]:
    """The outcomes of one slot's tasks. What is not named is released."""
    if view is None or view.token != held.token:
        # The slot was cut off before it wrote down what it had just claimed: it had started nothing.
        return []
    found = (_outcome(each, view.status_of(each.lease.task_id), broken_off) for each in claimed)
    return [outcome for outcome in found if outcome is not None]


def failed(claimed: Claimed, kind: str, message: str, *, at: float, worker: str) -> Outcome:
    """The attempt counts: retried while the budget lasts, by the stored rule, else dead."""
    try:
        task = claimed.task
    except UndecodableBody as unreadable:
        return policy.after_undecodable(claimed, unreadable)
    error = AttemptError(attempt=task.attempt, type=kind, message=message, at=at, worker=worker)
    return policy.after_failure(claimed, task, error)


def cancelled(claimed: Claimed) -> Outcome:
    """Somebody had asked for it."""
    try:
        return policy.after_cancel(claimed, claimed.task, "cancelled", started=True)
    except UndecodableBody as unreadable:
        return policy.after_undecodable(claimed, unreadable)


def _outcome(claimed: Claimed, status: Status, broken_off: BrokenOff) -> Outcome | None:
    if status is Status.SUCCEEDED:
        return Succeeded(lease=claimed.lease, note=policy.note(claimed.task, 0.0))
    if status in (Status.RUNNING, Status.ENDED):
        return broken_off(claimed)
    return None


def death_of(status: int) -> str:
    """What `os.waitpid` says of an end, in words."""
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
