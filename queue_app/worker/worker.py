"""The worker in one process: a runner, the duties around it, and an orderly end."""

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable

from queue_app.brokers.base import Broker
from queue_app.core.errors import ForgeQueueError
from queue_app.worker.announcer import Announcer
from queue_app.worker.handling import Find
from queue_app.worker.heart import Heart
from queue_app.worker.loop import Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outage import Complaints, OutageLog
from queue_app.worker.outlook import Outlook
from queue_app.worker.promoter import Promoter
from queue_app.worker.reclaimer import Reclaimer
from queue_app.worker.runner import Runner
from queue_app.worker.sweeper import Sweeper

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


class Worker:
    """Claims tasks and runs them until it is told to stop."""

    def __init__(
        self,
        broker: Broker,
        options: WorkerOptions,
        *,
        find: Find,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self.outages = OutageLog()
        self.complaints = Complaints()
        self._broker = broker
        # Of all queues of Python this one alone may be put to by a signal handler that interrupted a get or a put.
        self._inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._has_given_up = False
        self._is_told_again = False
        outlook = Outlook(clock)
        queues = options.queue_names
        self.promoter = Promoter(broker, queues, outlook, self, somebody_waits=lambda: self.runner.waiter.is_waiting)
        self.runner = Runner(
            broker,
            options,
            self,
            find=find,
            outlook=outlook,
            promoter=self.promoter,
            all_idle=lambda: self._inbox.put(EMPTY),
            clock=clock,
        )
        self.heart = Heart(
            broker,
            self.runner,
            self,
            lease_seconds=options.lease_seconds,
            beat_seconds=options.beat_seconds,
            clock=clock,
        )
        self.reclaimer = Reclaimer(broker, queues, outlook, self, lease_seconds=options.lease_seconds)
        self.sweeper = Sweeper(broker, queues, self)
        self.announcer = Announcer(broker, self.runner, self, options, started_at=time.time())
        self.duties: list[Loop] = [self.heart, self.promoter, self.reclaimer, self.sweeper, self.announcer]

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
        logger.critical("worker stops, a duty gave up duty=%s error=%s", duty.name, type(error).__name__)
        self._has_given_up = True
        self._inbox.put(GAVE_UP)

    def _finish(self, reason: str) -> int:
        logger.info("worker drains name=%s reason=%s", self.options.name, reason)
        self.runner.drain()
        self.announcer.nudge()
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
        seconds = min(self.options.drain_seconds, self.options.lease_seconds if reason == GAVE_UP else float("inf"))
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
        gone = threading.Thread(target=self._retire, name="forgequeue-retire", daemon=True)
        gone.start()
        gone.join(AT_ONCE_SECONDS)

    def _retire(self) -> None:
        try:
            self.announcer.join(AT_ONCE_SECONDS)
            self._broker.retire(self.options.name)
        except ForgeQueueError as error:
            logger.info("could not say goodbye, the record will age error=%s", error)
