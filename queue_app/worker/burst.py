"""Instead of waiting: a worker that stops when nothing is ready, nothing is due and nothing runs in it.

What it leaves behind: tasks of paused queues, and those that are due later, retries included.
"""

import threading
from collections.abc import Callable, Sequence

from queue_app.worker.waiter import Promotes

LOOK_AGAIN_SECONDS = 0.1
"""A task that still runs may enqueue more: the idle slots look that often."""


class Burst:
    """Where the slots of a burst meet; the last one to come turns off the light."""

    def __init__(self, queues: Sequence[str], promoter: Promotes, *, slots: int, all_idle: Callable[[], None]) -> None:
        self._queues = list(queues)
        self._promoter = promoter
        self._slots = slots
        self._all_idle = all_idle
        self._room = threading.Condition()
        self._idle: set[int] = set()
        self._is_closed = False

    @property
    def is_waiting(self) -> bool:
        """Nobody ever waits at the store."""
        return False

    def is_at_store(self, slot: object) -> bool:  # noqa: ARG002 - the answer is the same for all
        """Nobody ever waits at the store."""
        return False

    def wait(self, slot: object, at_most: float | None = None) -> list[str]:  # noqa: ARG002 - it is never for long
        """The slot found every queue empty. Where it should look again; nowhere when all slots found so."""
        due = self._promoter.promote_due(self._queues)
        if due:
            return due
        with self._room:
            self._idle.add(id(slot))
            if len(self._idle) >= self._slots and not self._is_closed:
                self._is_closed = True
                self._room.notify_all()
                self._all_idle()
            if not self._is_closed:
                self._room.wait(LOOK_AGAIN_SECONDS)
            self._idle.discard(id(slot))
            return [] if self._is_closed else self._queues

    def hand_on(self, slot: object) -> None:
        """There is no role to hand on."""

    def close(self) -> None:
        """The worker stops before the queues are empty."""
        with self._room:
            self._is_closed = True
            self._room.notify_all()

    def leave(self) -> None:
        """The process may end at any moment."""
        self.close()
