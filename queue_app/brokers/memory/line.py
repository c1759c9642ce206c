"""The ready tasks of a queue, in the order of claiming."""

from collections import OrderedDict
from collections.abc import Iterator


class Line:
    """Ids by priority, larger ones first; within one, first in, first out."""

    def __init__(self) -> None:
        self._by_priority: dict[int, OrderedDict[str, None]] = {}

    def push_tail(self, task_id: str, priority: int) -> None:
        """Behind all others of its priority."""
        self._by_priority.setdefault(priority, OrderedDict())[task_id] = None

    def push_head(self, task_id: str, priority: int) -> None:
        """Before all others of its priority."""
        self.push_tail(task_id, priority)
        self._by_priority[priority].move_to_end(task_id, last=False)

    def remove(self, task_id: str, priority: int) -> None:
        """Out of turn, or because its turn has come."""
        ids = self._by_priority[priority]
        del ids[task_id]
        if not ids:
            del self._by_priority[priority]

    def __iter__(self) -> Iterator[str]:
        for priority in sorted(self._by_priority, reverse=True):
            yield from self._by_priority[priority]

    def __len__(self) -> int:
        return sum(map(len, self._by_priority.values()))
