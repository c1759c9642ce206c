"""A runner in a process of its own: slots, what they share, and a line to the supervisor.

The supervisor renews its leases and looks after the queues. Should the supervisor be stopped, the runner notices by the
board that nobody looks, renews its own leases and claims nothing new. Should it be gone, the line says so: the runner
ends as if told to, with what it can finish within a lease.
"""

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from queue_app.brokers.base import Broker
from queue_app.worker.board import Board
from queue_app.worker.handling import Find
from queue_app.worker.heart import Heart
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outlook import Outlook
from queue_app.worker.process import SIGNALS, Process
from queue_app.worker.promoter import Promoter
from queue_app.worker.runner import Runner

DRAIN, STOP = b"drain\n", b"stop\n"
LOOK_SECONDS = 0.1

logger = logging.getLogger("forgequeue.worker")


def runner_name(worker: str, serial: int) -> str:
    """What a runner is called; its slots' names follow from it."""
    return f"{worker}.{serial}"


class RunnerProcess(Process):
    """The runner, and the two duties that are its own."""

    runner: Runner

    def __init__(
        self,
        broker: Broker,
        options: WorkerOptions,
        board: Board,
        *,
        find: Find,
        serial: int,
        place: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(drain_seconds=float("inf"), lease_seconds=options.lease_seconds)
        self.options = replace(options, name=runner_name(options.name, serial))
        outlook = Outlook(clock)
        promoter = Promoter(broker, options.queue_names, outlook, self, somebody_waits=lambda: True)
        self.runner = Runner(
            broker,
            self.options,
            self,
            find=find,
            outlook=outlook,
            promoter=promoter,
            all_idle=self.all_idle,
            seats=board.seats[place],
            clock=clock,
        )
        heart = Heart(
            broker,
            self.runner,
            self,
            lease_seconds=options.lease_seconds,
            beat_seconds=options.beat_seconds,
            clock=clock,
        )
        self.duties = [StandIn(heart, self.runner, board, self, place=place, stale_seconds=options.lease_seconds / 2)]

    def listen(self, line: socket.socket) -> None:
        """Do what the supervisor says, on a thread of its own."""
        threading.Thread(target=self._listen, args=(line,), name="forgequeue-line", daemon=True).start()

    def drains(self, reason: str) -> None:
        logger.debug("runner drains name=%s reason=%s", self.options.name, reason)

    def retire(self) -> None:
        """The supervisor speaks for it."""

    def _listen(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as words:
            for word in words:
                self._obey(word)
        # Whoever is left may take over what the lease lets go of; until then it is ours to finish.
        self._drain_seconds = min(self._drain_seconds, self._lease_seconds)
        self.stop()

    def _obey(self, word: bytes) -> None:
        """To stop is to be told once more while it drains."""
        if word in (DRAIN, STOP):
            self.stop()
        if word == STOP:
            self.stop()


class StandIn(Loop):
    """Beats while the supervisor does not, and says on the board whether a slot waits at the store."""

    def __init__(
        self, heart: Heart, runner: Runner, board: Board, desk: Desk, *, place: int, stale_seconds: float
    ) -> None:
        super().__init__("stand-in", desk, longest_delay=LOOK_SECONDS)
        self._heart = heart
        self._runner = runner
        self._board = board
        self._place = place
        self._stale_seconds = stale_seconds
        self._beats_at: float | None = None

    def run_once(self) -> float:
        now = time.monotonic()
        self._board.waits(self._place, at_store=self._runner.is_waiting)
        if self._board.stamped_ago(now) <= self._stale_seconds:
            if self._beats_at is not None:
                logger.warning("supervisor looks again name=%s", self._runner.name)
                self._beats_at = None
                self._runner.quiet.discard(self.name)
            return LOOK_SECONDS
        if self._beats_at is None:
            logger.warning("supervisor does not look, the runner beats for itself name=%s", self._runner.name)
            self._beats_at = now
            self._runner.quiet.add(self.name)
        if now >= self._beats_at:
            self._beats_at = now + self._heart.run_once()
        return LOOK_SECONDS


def serve(
    options: WorkerOptions, board: Board, *, find: Find, get_broker: Callable[[], Broker]
) -> Callable[[int, int, socket.socket], int]:
    """What the loader's children do."""

    def runner(serial: int, place: int, line: socket.socket) -> int:
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        process = RunnerProcess(get_broker(), options, board, find=find, serial=serial, place=place)
        process.listen(line)
        return process.run()

    return runner
