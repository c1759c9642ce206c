"""When the store does not answer: how long until the next try, and how often that is worth a line in the log."""

import logging
import random
import threading
import time
from collections.abc import Callable

from queue_app.core.errors import ForgeQueueError

FIRST_DELAY_SECONDS = 0.05
LONGEST_DELAY_SECONDS = 2.0
"""A worker is back at work this long after its store at the latest; ten threads that try so often cost nothing."""
LOG_EVERY_SECONDS = 30.0

logger = logging.getLogger("forgequeue.worker")


class OutageLog:
    """One voice for all duties of a worker: a line when the store goes, one each half minute, one when it is back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._down_since: float | None = None
        self._said_at: float | None = None
        self._was_said = False

    def failed(self, who: str, error: ForgeQueueError) -> None:
        """Somebody got no answer."""
        now = self._clock()
        with self._lock:
            if self._down_since is None:
                self._down_since = now
            # Also across outages: one that comes and goes is one line each half minute.
            if self._said_at is not None and now - self._said_at < LOG_EVERY_SECONDS:
                return
            self._said_at = now
            self._was_said = True
            down_seconds = now - self._down_since
        logger.warning("store unavailable duty=%s down=%.1fs error=%s", who, down_seconds, error)

    def answered(self) -> None:
        """Somebody got an answer after a failure."""
        with self._lock:
            since, self._down_since = self._down_since, None
            was_said, self._was_said = self._was_said, False
        if since is not None and was_said:
            logger.warning("store answers again down=%.1fs", self._clock() - since)


class Retries:
    """The delays between one caller's tries: doubled up to a cap, and shortened by up to half of it at random."""

    def __init__(
        self,
        *,
        first: float = FIRST_DELAY_SECONDS,
        longest: float = LONGEST_DELAY_SECONDS,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        self._longest = longest
        self._rng = rng
        self._failures = 0

    @property
    def failing(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    def failed(self) -> float:
        """Seconds until the next try."""
        # 2 ** 20 is past every cap.
        delay = min(self._first * 2.0 ** min(self._failures, 20), self._longest)
        self._failures += 1
        return delay * (1.0 - 0.5 * self._rng())

    def succeeded(self) -> None:
        """The next failure is a first one."""
        self._failures = 0


class Complaints:
    """Lines about one queue that the store refuses to work on: at most one each half minute a queue."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said_at: dict[str, float] = {}

    def refused(self, who: str, queue: str, error: ForgeQueueError) -> None:
        """The store answered with an error, which names what is in the way."""
        now = self._clock()
        if now - self._said_at.get(queue, -LOG_EVERY_SECONDS) >= LOG_EVERY_SECONDS:
            self._said_at[queue] = now
            logger.error("store refused queue=%s duty=%s error=%s", queue or "-", who, error)
