"""Says every few seconds that the worker lives, and what its slots do."""

import socket
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from os import getpid
from typing import Protocol

from queue_app.brokers.base import Broker
from queue_app.core.answers import WorkerRecord
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.options import WorkerOptions

ANNOUNCE_EVERY_SECONDS = 3.0
"""The record is forgotten after ten seconds: two may fail before that."""


class Activity(Protocol):
    """What there is to tell."""

    @property
    def is_draining(self) -> bool:
        """Whether it claims no more."""
        ...

    def running(self) -> Sequence[tuple[str, str, float]]:
        """Of each busy slot: task id, task type, seconds since its start."""
        ...

    def prefetched(self) -> int:
        """Tasks that are claimed and not started."""
        ...

    def counts(self) -> tuple[int, int]:
        """Attempts that ended, and how many of them failed."""
        ...


class Announcer(Loop):
    """One call each three seconds."""

    def __init__(
        self, broker: Broker, activity: Activity, desk: Desk, options: WorkerOptions, *, started_at: float
    ) -> None:
        super().__init__("announcer", desk)
        self._broker = broker
        self._activity = activity
        self._options = options
        self._started_at = started_at
        self._version = _own_version()

    def run_once(self) -> float:
        self._broker.announce(self.record())
        return ANNOUNCE_EVERY_SECONDS

    def record(self) -> WorkerRecord:
        """What is told now."""
        processed, failed = self._activity.counts()
        return WorkerRecord(
            name=self._options.name,
            host=socket.gethostname(),
            pid=getpid(),
            version=self._version,
            queues=self._options.queue_names,
            concurrency=self._options.concurrency * max(self._options.processes, 1),
            started_at=self._started_at,
            draining=self._activity.is_draining,
            running=tuple(self._activity.running()),
            prefetched=self._activity.prefetched(),
            processed=processed,
            failed=failed,
        )


def _own_version() -> str:
    try:
        return version("forgequeue-django")
    except PackageNotFoundError:
        return "unknown"
