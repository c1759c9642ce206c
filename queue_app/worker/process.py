"""A process that works until it is told to stop, and how it ends: nothing it took is lost or left lying about."""

import logging
import queue
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from queue_app.worker.loop import Loop
from queue_app.worker.outage import Complaints, OutageLog

LOOK_SECONDS = 0.02
"""How often a drain looks whether it is over."""
HAND_BACK_SECONDS = 3.0
"""What the end of a drain leaves for handing back what still runs: the store may be busy."""
AT_ONCE_SECONDS = 1.0
"""The same after a second signal."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)

EMPTY = "the queues are empty"
GAVE_UP = "a duty gave up"
TOLD = "it was told to"

logger = logging.getLogger("forgequeue.worker")


class Hands(Protocol):
    """What does the work of a process: a runner here, or many in processes of their own."""

    @property
    def is_done(self) -> bool:
        """Whether, after `drain`, all is delivered and nothing runs."""
        ...

    @property
    def is_asking_in_vain(self) -> bool:
        """Whether some claim was never answered: what it may have claimed is to be released."""
        ...

    @property
    def is_stuck(self) -> bool:
        """Whether a handler still runs here, on a thread that nobody can end."""
        ...

    def start(self) -> None:
        """Begin to claim."""
        ...

    def drain(self) -> None:
        """Claim no more, hand back what has not been started, and end with what runs."""
        ...

    def running(self) -> Sequence[tuple[str, str, float]]:
        """Of each busy slot: task id, task type, seconds since its start."""
        ...

    def abandon(self, timeout_seconds: float) -> bool:
        """Deliver what is finished, release what is not, and close the names of the slots. False when it cannot be."""
        ...

    def stop(self) -> None:
        """Let go of everything but the threads that cannot be ended."""
        ...


class Process(ABC):
    """Hands that work, duties around them, and one orderly end for both."""

    runner: Hands
    duties: list[Loop]

    def __init__(self, *, drain_seconds: float, lease_seconds: float) -> None:
        self.outages = OutageLog()
        self.complaints = Complaints()
        self._drain_seconds = drain_seconds
        self._lease_seconds = lease_seconds
        # Of all queues of Python this one alone may be put to by a signal handler that interrupted a get or a put.
        self._inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._has_given_up = False
        self._is_told_again = False

    # --- from start to end --------------------------------------------------------------------------------------------

    def run(self, *, started: Callable[[], None] = lambda: None) -> int:
        """Work until `stop`, an empty queue in a burst, or a duty that gave up. Returns the exit code."""
        self.start()
        started()
        return self._finish(self._inbox.get())

    def take_signals(self) -> Callable[[], None]:
        """From now on the first SIGTERM or SIGINT drains, and the second ends at once. Only on the main thread.

        Returns what puts the signals back; a process that is about to end has no use for that.
        """
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in SIGNALS}

        def give_back() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        return give_back

    def start(self) -> None:
        """Begin, on threads of its own."""
        for duty in self.duties:
            duty.start()
        self.runner.start()

    def stop(self) -> None:
        """Ask for the end. The first time it is a drain; the second time it is at once. Safe in a signal handler."""
        self._inbox.put(TOLD)

    @property
    def is_stuck(self) -> bool:
        """Whether a handler still runs that nobody can end: then only the end of the process ends it."""
        return self.runner.is_stuck

    def duty_gave_up(self, duty: Loop, error: BaseException) -> None:
        """A duty died more often than it may: the worker ends, and its exit code says so."""
        self._has_given_up = True
        self._inbox.put(GAVE_UP)
        logger.critical("worker stops, a duty gave up duty=%s error=%s", duty.name, type(error).__name__)

    def all_idle(self) -> None:
        """A burst has found nothing more to do."""
        self._inbox.put(EMPTY)

    @abstractmethod
    def drains(self, reason: str) -> None:
        """The end begins: say so."""

    @abstractmethod
    def retire(self) -> None:
        """The end: say goodbye."""

    def _finish(self, reason: str) -> int:
        self.drains(reason)
        self.runner.drain()
        if not self._drained(reason):
            self._cut_off(AT_ONCE_SECONDS if self._is_told_again else HAND_BACK_SECONDS)
        elif self.runner.is_asking_in_vain:
            self._cut_off(AT_ONCE_SECONDS)
        self.runner.stop()
        self._leave()
        return 1 if self._has_given_up else 0

    def _drained(self, reason: str) -> bool:
        """Wait until everything has ended. False after the drain timeout, or when told once more."""
        # Without one of its duties, the heart perhaps, a worker has no more than its last lease.
        seconds = min(self._drain_seconds, self._lease_seconds if reason == GAVE_UP else float("inf"))
        deadline = time.monotonic() + seconds
        while not self.runner.is_done:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            try:
                if self._inbox.get(timeout=min(left, LOOK_SECONDS)) == TOLD:
                    self._is_told_again = True
                    return False
            except queue.Empty:
                continue
        return True

    def _cut_off(self, seconds: float) -> None:
        running = self.runner.running()
        for task_id, task_type, since in running:
            logger.warning("task cut off task=%s type=%s running=%.1fs", task_id, task_type, since)
        if self.runner.abandon(seconds):
            logger.info("released what was still running tasks=%d", len(running))
        else:
            logger.error("could not hand back what runs, its leases will run out tasks=%d", len(running))

    def _leave(self) -> None:
        for duty in self.duties:
            duty.stop()
        gone = threading.Thread(target=self.retire, name="forgequeue-retire", daemon=True)
        gone.start()
        gone.join(AT_ONCE_SECONDS)
