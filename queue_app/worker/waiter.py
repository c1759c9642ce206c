"""How idle slots wait: one of them, the leader, asks the store to be woken; the others wait for it in this process.

The leader that is woken claims by itself, on its own thread, and hands the role on once it has something to run: no
thread has to wake another between the ring and the start of the handler. So a worker has one waiter for all its slots.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from queue_app.brokers.base import Broker
from queue_app.core import ids
from queue_app.core.errors import ForgeQueueError, StoreRefused
from queue_app.core.outcomes import Released
from queue_app.worker.outlook import Outlook
from queue_app.worker.turns import Turns

SHORTEST_WAIT_SECONDS = 0.01
LULL_LOOKS = 2
"""How many queues are looked at when a wait ends without a ring, in rotation: with the wait itself and what a worker
says of itself, an idle worker stays below one call a second."""


class Promotes(Protocol):
    """What moves due tasks to the line."""

    def promote_due(self, queues: Sequence[str]) -> list[str]:
        """In which queues there was something due."""
        ...


class Waiting(Protocol):
    """A slot that waits."""

    holder: str


class Waiter:
    """The waiting room of one runner."""

    def __init__(
        self,
        broker: Broker,
        turns: Turns,
        outlook: Outlook,
        promoter: Promotes,
        *,
        longest_seconds: float,
        lull_looks: int = LULL_LOOKS,
        refused: Callable[[str, ForgeQueueError], None],
    ) -> None:
        self._broker = broker
        self._turns = turns
        self._outlook = outlook
        self._promoter = promoter
        self._longest_seconds = longest_seconds
        self._lull_looks = lull_looks
        self._refused = refused
        self._room = threading.Condition()
        self._leader: Waiting | None = None
        self._asking = False
        self._is_closed = False
        self._is_over = False
        self._looked = 0

    @property
    def is_waiting(self) -> bool:
        """Whether somebody waits at the store now: then due tasks are the leader's business."""
        return self._asking

    def is_at_store(self, slot: Waiting) -> bool:
        """Whether it is `slot` that waits at the store now: it holds nothing."""
        return self._asking and self._leader is slot

    def wait(self, slot: Waiting, at_most: float | None = None) -> list[str]:
        """Sleep until there may be work, or for `at_most` so many seconds.

        The queues where the slot should look; none when the room has been closed, or its time is over.
        """
        return self._ask(slot, at_most) if self._lead(slot, at_most) else []

    def hand_on(self, slot: Waiting) -> None:
        """`slot` has something to run: should it be the leader, another idle slot takes over."""
        if self._leader is not slot:
            return
        with self._room:
            self._leader = None
            self._room.notify()

    def close(self) -> None:
        """Send everybody home. A leader who is at the store notices when he comes back."""
        with self._room:
            self._is_closed = True
            self._room.notify_all()

    def leave(self) -> None:
        """The process may end at any moment: whoever comes back from the store touches nothing any more."""
        self.close()
        self._is_over = True

    def _lead(self, slot: Waiting, at_most: float | None) -> bool:
        with self._room:
            if not self._room.wait_for(lambda: self._is_closed or self._leader in (None, slot), at_most):
                return False
            if self._is_closed:
                return False
            self._leader = slot
            return True

    def _ask(self, slot: Waiting, at_most: float | None) -> list[str]:
        queues = self._turns.usable()
        limits = (self._longest_seconds, self._outlook.next_due_in(queues), at_most)
        timeout = min(limit for limit in limits if limit is not None)
        self._asking = True
        try:
            rung = self._wait_at_store(queues, max(timeout, SHORTEST_WAIT_SECONDS))
        finally:
            self._asking = False
        if rung is None:
            return self._after_lull(queues)
        if self._is_closed or self._turns.quiet:
            self._pass_on(rung, slot.holder)
            return []
        return [rung]

    def _pass_on(self, queue: str, holder: str) -> None:
        """The ring came too late for us, and took the marker with it. What is released rings again, for others."""
        if self._is_over:
            return
        token = ids.new_token()
        claimed = self._broker.exchange(queue, holder=holder, token=token, want=1, lease_seconds=1.0).claimed
        released = [Released(lease=each.lease) for each in claimed]
        if released:
            self._broker.exchange(queue, holder="", token="", outcomes=released)

    def _after_lull(self, queues: Sequence[str]) -> list[str]:
        if self._is_closed:
            return []
        promoted = self._promoter.promote_due(queues)
        if promoted:
            return promoted
        first = self._looked % len(queues) if queues else 0
        self._looked += self._lull_looks
        return [*queues[first:], *queues[:first]][: self._lull_looks]

    def _wait_at_store(self, queues: Sequence[str], timeout: float) -> str | None:
        if not queues:
            with self._room:
                self._room.wait(timeout=min(timeout, 1.0))
            return None
        try:
            return self._broker.wait(queues, timeout)
        except StoreRefused:
            self._find_refused(queues)
            return None

    def _find_refused(self, queues: Sequence[str]) -> None:
        """One queue's marker is in the way of all: find out whose, and leave that queue alone for a while."""
        for queue in queues:
            try:
                self._broker.wait([queue], SHORTEST_WAIT_SECONDS)
            except StoreRefused as refusal:
                self._turns.set_aside(queue)
                self._refused(queue, refusal)
