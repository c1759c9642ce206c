"""What the store's last answers say of the near future: its time, when the next task falls due, when a lease runs out.

Every exchange says so, for nothing; the duties that look after a queue ask the store only where this is too old.
"""

import time
from collections.abc import Callable, Iterable

from queue_app.core.answers import Exchange, Standing


class _View:
    """What was last said of one queue."""

    __slots__ = ("looked_at", "next_due_at", "next_expiry_at")

    def __init__(self, next_due_at: float | None, next_expiry_at: float | None, looked_at: float) -> None:
        self.next_due_at = next_due_at
        self.next_expiry_at = next_expiry_at
        self.looked_at = looked_at


class Outlook:
    """Shared by all threads of a worker. An entry is replaced whole, so none of them needs a lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ahead: float | None = None
        self._views: dict[str, _View] = {}

    def saw(self, queue: str, answer: Exchange) -> None:
        """An exchange was answered."""
        now = self._clock()
        self._ahead = answer.now - now
        if answer.standing is not Standing.UNASKED:
            self._views[queue] = _View(answer.next_due_at, answer.next_expiry_at, now)

    def told(self, store_now: float) -> None:
        """The store said what time it is."""
        self._ahead = store_now - self._clock()

    @property
    def knows_the_time(self) -> bool:
        """Whether the store has ever said."""
        return self._ahead is not None

    def promoted(self, queue: str, next_due_at: float | None) -> None:
        """A promote said when the next task is due."""
        view = self._view(queue)
        self._views[queue] = _View(next_due_at, view.next_expiry_at, view.looked_at)

    def reclaimed(self, queue: str, next_expiry_at: float | None) -> None:
        """A reclaim said when the next lease runs out."""
        view = self._view(queue)
        self._views[queue] = _View(view.next_due_at, next_expiry_at, self._clock())

    def store_now(self) -> float:
        """The store's time, from its last answer and what has passed here since."""
        return time.time() if self._ahead is None else self._clock() + self._ahead

    def next_due_in(self, queues: Iterable[str]) -> float | None:
        """Seconds until the first known task falls due, not below 0; None when none is known."""
        dues = [view.next_due_at for queue in queues if (view := self._views.get(queue)) and view.next_due_at]
        return max(min(dues) - self.store_now(), 0.0) if dues else None

    def is_due(self, queue: str) -> bool:
        """Whether a task of `queue` is known to be due."""
        due_at = self._view(queue).next_due_at
        return due_at is not None and due_at <= self.store_now()

    def expires_in(self, queue: str) -> float | None:
        """Seconds until the first known lease of `queue` runs out, not below 0; None when none is known."""
        expiry_at = self._view(queue).next_expiry_at
        return None if expiry_at is None else max(expiry_at - self.store_now(), 0.0)

    def age(self, queue: str) -> float:
        """Seconds since the store last spoke of `queue`."""
        return self._clock() - self._view(queue).looked_at

    def _view(self, queue: str) -> _View:
        return self._views.get(queue) or _View(None, None, float("-inf"))
