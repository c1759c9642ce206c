"""Handing back: tasks that were claimed and not started return to the head of their line; no attempt is counted."""

import threading
from collections.abc import Iterable

from queue_app.brokers.base import MAX_BATCH, Broker
from queue_app.core.errors import StoreRefused
from queue_app.core.outcomes import Outcome
from queue_app.worker.loop import Desk


class Handback:
    """Delivers outcomes that were taken from a slot, under the leases they carry, and keeps them until it could."""

    def __init__(self, broker: Broker, desk: Desk) -> None:
        self._broker = broker
        self._desk = desk
        self._waiting: dict[str, list[Outcome]] = {}
        self._lock = threading.Lock()
        self._delivery = threading.Lock()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """They are to be delivered."""
        for outcome in outcomes:
            with self._lock:
                self._waiting.setdefault(outcome.lease.queue, []).append(outcome)

    @property
    def queues(self) -> list[str]:
        """In which queues something is still to be delivered."""
        return list(self._waiting)

    def deliver(self) -> None:
        """Send what there is, one step per queue. Raises StoreUnavailable; what was not answered is kept."""
        if not self._waiting:
            return
        with self._delivery:
            for queue in self.queues:
                try:
                    self._deliver(queue)
                except StoreRefused as error:
                    self._desk.complaints.refused("handback", queue, error)

    def _deliver(self, queue: str) -> None:
        while outcomes := self._waiting[queue][:MAX_BATCH]:
            self._broker.exchange(queue, holder="", token="", outcomes=outcomes)
            with self._lock:
                del self._waiting[queue][: len(outcomes)]
        with self._lock:
            if not self._waiting[queue]:
                del self._waiting[queue]
        # The release has rung, but it may have woken our own waiter, which claims nothing while the worker ends.
        self._broker.ring(queue)
