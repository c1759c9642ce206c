"""The seven states of a task."""

from enum import StrEnum


class State(StrEnum):
    """Where a task is. An id that enqueue returned is in exactly one of these until it leaves the store."""

    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        """Nothing happens to it any more unless a person asks."""
        return self in FINISHED

    @property
    def is_waiting(self) -> bool:
        """It will run, now or at its time."""
        return self in WAITING


WAITING = frozenset({State.SCHEDULED, State.READY, State.RETRYING})
FINISHED = frozenset({State.SUCCEEDED, State.DEAD, State.CANCELLED})
