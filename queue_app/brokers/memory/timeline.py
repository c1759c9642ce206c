"""Ids by a time: what a sorted set is in Redis."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice


class Timeline:
    """Earliest first; at one time, by id."""

    def __init__(self) -> None:
        self._order: list[tuple[float, str]] = []

    @property
    def first(self) -> float | None:
        """The earliest time, or None when there is none."""
        return self._order[0][0] if self._order else None

    def add(self, task_id: str, at: float) -> None:
        """The id must not be in it."""
        insort(self._order, (at, task_id))

    def remove(self, task_id: str, at: float) -> None:
        """The id must be in it, at that time."""
        place = bisect_left(self._order, (at, task_id))
        if self._order[place] != (at, task_id):
            raise KeyError(task_id)
        del self._order[place]

    def until(self, now: float, limit: int) -> list[tuple[float, str]]:
        """The earliest `limit` of those whose time has come."""
        return [(at, task_id) for at, task_id in islice(self._order, limit) if at <= now]

    def count_until(self, now: float) -> int:
        """How many of them have had their time."""
        return bisect_left(self._order, (now, "\U0010ffff"))

    def __iter__(self) -> Iterator[str]:
        return (task_id for _, task_id in self._order)

    def __reversed__(self) -> Iterator[str]:
        return (task_id for _, task_id in reversed(self._order))

    def __len__(self) -> int:
        return len(self._order)
