"""The keeper: as many runners as there should be, none past its limits, and none dead without anybody noticing."""

import logging
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from queue_app.worker.batch import CANCELLED
from queue_app.worker.board import View
from queue_app.worker.crash import HARD_TIME_LIMIT, death_of
from queue_app.worker.crew import Crew, Member
from queue_app.worker.loader import Died, Loader, LoaderGone
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outage import Retries

LOOK_SECONDS = 0.1
RECALL_SECONDS = 0.5
"""What waits behind a task for longer than this is recalled: its runner, which should have handed it back, does not get
to it."""
NEIGHBOUR_SECONDS = 10.0
"""How long the others in a runner that has to be ended may go on."""
ENDED_WELL = death_of(0)
YOUNG_SECONDS = 1.0
"""A runner that dies younger than this is not replaced at once."""

logger = logging.getLogger("forgequeue.worker")


class Keeper(Loop):
    """Looks ten times a second, and whenever the loader has something to say."""

    def __init__(
        self,
        crew: Crew,
        loader: Loader,
        desk: Desk,
        *,
        all_idle: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("keeper", desk, clock=clock)
        self._crew = crew
        self._loader: Loader | None = loader
        self._options: WorkerOptions = crew.options
        self._all_idle = all_idle
        self._serial = 0
        self._ended_well = 0
        """Runners of a burst that have found every queue empty: they are not replaced."""
        self._births = Retries()
        self._birth_at = 0.0
        self._stopped_since: dict[int, float] = {}
        self._woken, self._wakes = socket.socketpair()
        self._wakes.setblocking(False)
        crew.call_keeper = self.nudge
        crew.board.stamp(clock())

    def nudge(self) -> None:
        """Look now."""
        with suppress(OSError):
            self._wakes.send(b"!")

    def run_once(self) -> float:
        self._crew.board.stamp(self._clock())
        self._listen(LOOK_SECONDS)
        now = self._clock()
        self._crew.board.stamp(now)
        for member in list(self._crew.members.values()):
            self._look_after(member, now)
        self._bring_to_life(now)
        return 0.0

    def stop(self) -> None:
        super().stop()
        self.nudge()

    def close(self) -> None:
        """The loader ends, too."""
        self._woken.close()
        self._wakes.close()
        if self._loader is not None:
            self._loader.close()

    # --- news ---------------------------------------------------------------------------------------------------------

    def _listen(self, seconds: float) -> None:
        sources: list[socket.socket | Loader] = [self._woken, *([self._loader] if self._loader else [])]
        readable, _, _ = select.select(sources, [], [], seconds)
        if self._woken in readable:
            self._woken.recv(4096)
        if self._loader is None:
            self._miss()
        elif self._loader in readable:
            self._hear(self._loader)

    def _hear(self, loader: Loader) -> None:
        try:
            news = loader.news()
        except LoaderGone as error:
            self._without_loader(error)
            return
        for each in news:
            if isinstance(each, Died):
                self._bury(each.pid, death_of(each.status))
            elif each.serial in self._crew.members:
                self._crew.members[each.serial].pid = each.pid

    def _without_loader(self, error: LoaderGone) -> None:
        self._loader = None
        logger.critical("the loader is gone: there can be no new runners")
        self._desk.duty_gave_up(self, error)

    def _miss(self) -> None:
        """Nobody tells of deaths any more."""
        for member in list(self._crew.members.values()):
            if not _is_alive(member.pid):
                self._bury(member.pid, "unknown cause")

    def _bury(self, pid: int, death: str) -> None:
        member = next((each for each in self._crew.members.values() if each.pid == pid), None)
        if member is None:
            return
        self._stopped_since.pop(member.serial, None)
        self._crew.died(member, death)
        found_nothing = self._options.burst and death == ENDED_WELL and not member.is_leaving
        self._ended_well += found_nothing
        if found_nothing or member.is_leaving or member.is_cut_off or member.culprits:
            logger.info("runner ended name=%s pid=%d death=%s", member.name, pid, death)
        else:
            logger.error("runner died name=%s pid=%d death=%s", member.name, pid, death)
            if self._clock() - member.born_at < YOUNG_SECONDS:
                self._birth_at = self._clock() + self._births.failed()
            else:
                self._births.succeeded()
        if self._ended_well >= self._options.processes:
            self._all_idle()

    # --- births -------------------------------------------------------------------------------------------------------

    def _bring_to_life(self, now: float) -> None:
        with self._crew.births:
            while (
                (loader := self._loader) is not None
                and self._may_bear(now)
                and (place := self._crew.free_place()) is not None
            ):
                self._bear(loader, place)

    def _may_bear(self, now: float) -> bool:
        return not self._crew.is_draining and now >= self._birth_at and self._working() < self._wanted

    def _bear(self, loader: Loader, place: int) -> None:
        self._serial += 1
        self._crew.board.open(place)
        try:
            line = loader.fork(self._serial, place)
        except LoaderGone as error:
            self._without_loader(error)
        else:
            self._crew.join(self._serial, place, line)

    @property
    def _wanted(self) -> int:
        return self._options.processes - self._ended_well

    def _working(self) -> int:
        return sum(not member.is_leaving for member in self._crew.members.values())

    # --- limits -------------------------------------------------------------------------------------------------------

    def _look_after(self, member: Member, now: float) -> None:
        running = []
        for seat, view in member.views():
            if view.is_running:
                running.append(view.running_id)
                self._convict(member, view, now)
                if now - view.started_at > RECALL_SECONDS and any(view.waiting()):
                    self._crew.recall(seat, view)
        for task_id in set(member.cancels).difference(running):
            del member.cancels[task_id]
        if member.culprits:
            self._end(member, running, now)
        self._look_whether_it_is_stopped(member, now)
        if not member.is_leaving and (reason := self._worn_out_by(member, now)):
            logger.info("runner is replaced name=%s reason=%s", member.name, reason)
            member.leave()

    def _worn_out_by(self, member: Member, now: float) -> str:
        """Why its time is over, or nothing."""
        options = self._options
        if options.max_tasks is not None and sum(seat.counts()[0] for seat in member.seats) >= options.max_tasks:
            return f"it has run {options.max_tasks} tasks"
        if options.max_seconds is not None and now - member.born_at >= options.max_seconds:
            return f"it has run for {options.max_seconds:g} s"
        if options.max_memory_bytes is not None and (held := resident_bytes(member.pid)) >= options.max_memory_bytes:
            return f"it holds {held / 1e6:.0f} MB"
        return ""

    def _convict(self, member: Member, view: View, now: float) -> None:
        """A handler that goes on though it may not ends with its runner."""
        task_id = view.running_id
        if view.hard_until and now >= view.hard_until:
            self._accuse(member, view, HARD_TIME_LIMIT)
        elif now - member.cancels.get(task_id, now) > self._options.cancel_grace_seconds:
            self._accuse(member, view, CANCELLED)

    def _accuse(self, member: Member, view: View, reason: str) -> None:
        if view.running_id in member.culprits:
            return
        member.culprits[view.running_id] = reason
        logger.warning(
            "runner is ended for a task name=%s task=%s type=%s reason=%s",
            member.name,
            view.running_id,
            view.task_type,
            reason,
        )
        if member.kill_at is None:
            member.kill_at = self._clock() + NEIGHBOUR_SECONDS
            member.leave()

    def _end(self, member: Member, running: list[str], now: float) -> None:
        has_neighbours = not set(running) <= set(member.culprits)
        if member.kill_at is not None and (now >= member.kill_at or not has_neighbours):
            member.kill()

    def _look_whether_it_is_stopped(self, member: Member, now: float) -> None:
        if not _is_stopped(member.pid):
            self._stopped_since.pop(member.serial, None)
        elif now - self._stopped_since.setdefault(member.serial, now) > self._options.stall_seconds:
            logger.error("runner is ended, it was stopped for too long name=%s pid=%d", member.name, member.pid)
            member.kill()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def resident_bytes(pid: int) -> int:
    """The memory that a process has in RAM; 0 where the system does not say, or the process has gone."""
    try:
        if Path("/proc/self/statm").exists():
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        told = subprocess.run(["/bin/ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(told.stdout or 0) * 1024
    except (OSError, ValueError):
        return 0


def _is_stopped(pid: int) -> bool:
    """Whether somebody sent it SIGSTOP. Where the system does not say, nobody is."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False
