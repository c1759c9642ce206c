"""How many tasks a slot asks for at once: many while they take microseconds, one when they are slow."""

from typing import Protocol

from queue_app.worker.options import BATCH_SECONDS, LARGEST_BATCH

GROWTH = 4
"""1, 4, 16, 64: a new worker asks for whole batches after three."""
NEWEST_WEIGHT = 0.5
"""How much of the moving average the last batch is: after two slow ones little is left of a fast past."""


class BatchSize(Protocol):
    """How many to ask for, and what came of it."""

    def want(self) -> int:
        """Tasks to ask for now."""
        ...

    def ran(self, count: int, seconds: float, *, asked: int) -> None:
        """`count` tasks took `seconds`, where `asked` had been asked for."""
        ...


class FixedBatch:
    """Always the same."""

    def __init__(self, size: int) -> None:
        self._size = size

    def want(self) -> int:
        return self._size

    def ran(self, count: int, seconds: float, *, asked: int) -> None:
        """Nothing follows from it."""


class AdaptiveBatch:
    """At most BATCH_SECONDS of work by a moving average of one slot, and at most LARGEST_BATCH tasks."""

    def __init__(self) -> None:
        self._limit = 1
        self._seconds_each: float | None = None

    def want(self) -> int:
        if not self._seconds_each:
            return self._limit
        return max(min(self._limit, int(BATCH_SECONDS / self._seconds_each)), 1)

    def ran(self, count: int, seconds: float, *, asked: int) -> None:
        if count <= 0:
            return
        mean, known = seconds / count, self._seconds_each
        self._seconds_each = mean if known is None else known + NEWEST_WEIGHT * (mean - known)
        if count >= asked:
            self._limit = min(self._limit * GROWTH, LARGEST_BATCH)


def batch_size(fixed: int | None) -> BatchSize:
    """The rule for one slot."""
    return AdaptiveBatch() if fixed is None else FixedBatch(fixed)
