"""Sweeps: drops what is finished and past its time, and takes over what a foreign worker declared dead."""

import random
from collections.abc import Sequence

from queue_app.brokers.base import Broker
from queue_app.core.errors import StoreRefused
from queue_app.worker.loop import Desk, Loop

SWEEP_EVERY_SECONDS = 60.0
FIRST_SWEEP_SECONDS = 2.0
SLICE_PAUSE_SECONDS = 0.05
"""Between two slices the store has time for others."""


class Sweeper(Loop):
    """One slice of each queue at a time; a minute's rest when there is no more."""

    def __init__(self, broker: Broker, queues: Sequence[str], desk: Desk) -> None:
        super().__init__("sweeper", desk)
        self._broker = broker
        self._queues = queues
        self._is_first = True

    def run_once(self) -> float:
        if self._is_first:
            # Workers that were started together need not all sweep at once, nor while they look for their first task.
            self._is_first = False
            return FIRST_SWEEP_SECONDS * (1.0 + random.random())  # noqa: S311 - spreads load, guards nothing
        more = [self._sweep(queue) for queue in self._queues]
        return SLICE_PAUSE_SECONDS if any(more) else SWEEP_EVERY_SECONDS

    def _sweep(self, queue: str) -> bool:
        try:
            return self._broker.sweep(queue).more
        except StoreRefused as error:
            self._desk.complaints.refused(self.name, queue, error)
            return False
