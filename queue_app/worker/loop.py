"""A background duty: a unit of work, done again and again on a thread of its own until somebody stops it.

A store that does not answer is waited out. Any other error is a defect: the duty is started again a few times, each of
them told in the log, and then gives up the whole worker, which is better than a queue that nobody looks after.
"""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from queue_app.core.errors import StoreRefused, StoreUnavailable
from queue_app.worker.outage import LONGEST_DELAY_SECONDS, Complaints, OutageLog, Retries

RESTARTS = 5
RESTARTS_WITHIN_SECONDS = 60.0
"""A duty that dies more often than this gives up."""

logger = logging.getLogger("forgequeue.worker")


class Desk(Protocol):
    """Where a duty reports to."""

    outages: OutageLog
    complaints: Complaints

    def duty_gave_up(self, duty: "Loop", error: BaseException) -> None:
        """The worker has to end."""
        ...


class Loop(ABC):
    """One duty. `run_once` is its unit of work; tests call that and never sleep."""

    def __init__(
        self,
        name: str,
        desk: Desk,
        *,
        clock: Callable[[], float] = time.monotonic,
        longest_delay: float = LONGEST_DELAY_SECONDS,
    ) -> None:
        self.name = name
        self.last_success_at = clock()
        """When `run_once` last came to its end, on the monotonic clock; before that, when the duty began."""
        self.is_stopping = False
        self._desk = desk
        self._clock = clock
        self._wake = threading.Event()
        self._retries = Retries(longest=min(longest_delay, LONGEST_DELAY_SECONDS))
        self._deaths: list[float] = []
        self._thread: threading.Thread | None = None

    @abstractmethod
    def run_once(self) -> float:
        """Do one unit of work. Returns the seconds until the next is due."""

    def start(self) -> None:
        """Begin, on a daemon thread: a handler that never ends must not keep a process that was told to end."""
        self._thread = threading.Thread(target=self._run, name=f"forgequeue-{self.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the present unit of work; `join` says when it has."""
        self.is_stopping = True
        self._wake.set()

    def nudge(self) -> None:
        """Do the next unit of work now."""
        self._wake.set()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for its end. False when it still runs."""
        if self._thread is None:
            return True
        self._thread.join(max(timeout_seconds, 0.0))
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def step(self) -> float:
        """One unit of work with its errors dealt with. Returns the seconds until the next."""
        try:
            delay = self.run_once()
        except StoreUnavailable as error:
            self._desk.outages.failed(self.name, error)
            return self._retries.failed()
        except StoreRefused as error:
            self._desk.complaints.refused(self.name, "", error)
            return self._retries.failed()
        except Exception as error:
            logger.exception("duty died duty=%s error=%s", self.name, type(error).__name__)
            return self._died(error)
        self._answered()
        return delay

    def began(self) -> None:
        """Its thread has begun."""
        self.last_success_at = self._clock()

    def _answered(self) -> None:
        self.last_success_at = self._clock()
        if self._retries.failing:
            self._retries.succeeded()
            self._desk.outages.answered()

    def _died(self, error: BaseException) -> float:
        now = self._clock()
        self._deaths = [at for at in self._deaths if now - at < RESTARTS_WITHIN_SECONDS] + [now]
        if len(self._deaths) > RESTARTS:
            self.is_stopping = True
            self._desk.duty_gave_up(self, error)
            logger.critical("duty gave up duty=%s error=%s", self.name, type(error).__name__)
        return self._retries.failed()

    def _run(self) -> None:
        try:
            self.began()
            while not self.is_stopping:
                delay = self.step()
                if delay > 0 and self._wake.wait(delay):
                    self._wake.clear()
        except BaseException as error:
            # First: to log is to run somebody's filters, and one that raises may be what ended the duty.
            self._desk.duty_gave_up(self, error)
            logger.critical("duty ended duty=%s error=%s", self.name, type(error).__name__, exc_info=True)
