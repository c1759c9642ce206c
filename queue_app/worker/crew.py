"""The runners of a worker that has them in processes of their own, as its duties see them: through the board.

What a slot holds is renewed by its name and the store's answer, how far it has come is read from the board; no runner
is asked for anything. Who keeps the runners alive is the keeper, what becomes of a dead one's tasks is the recovery.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from queue_app.brokers.base import Broker
from queue_app.core.answers import Beat, Held
from queue_app.core.lease import Lease
from queue_app.core.outcomes import Outcome, Released
from queue_app.worker.batch import CANCELLED, LOST
from queue_app.worker.board import Board, SharedSeat, Status, View
from queue_app.worker.child import DRAIN, STOP, runner_name
from queue_app.worker.handback import Handback
from queue_app.worker.loop import Desk
from queue_app.worker.options import WorkerOptions
from queue_app.worker.process import LOOK_SECONDS
from queue_app.worker.slot import holder_name


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """One runner process."""

    serial: int
    place: int
    name: str
    seats: Sequence[SharedSeat]
    line: socket.socket
    born_at: float
    pid: int = 0
    """0 until the loader has said."""
    is_leaving: bool = False
    """Whether it was told to claim no more."""
    culprits: dict[str, str] = field(default_factory=dict)
    """Tasks for the sake of which it is ended, by id: HARD_TIME_LIMIT or CANCELLED."""
    kill_at: float | None = None
    """When its time to let the neighbours of a culprit finish is over."""
    is_cut_off: bool = False
    """Whether it is ended by us: what it still runs is nobody's fault."""
    cancels: dict[str, float] = field(default_factory=dict)
    """Running tasks that somebody asked to cancel, by id, and since when we know."""
    death: str = ""
    """How it ended, once it has."""

    def holders(self) -> list[tuple[str, SharedSeat]]:
        """The names of its slots, as they are now."""
        return [(holder_name(self.name, number, seat.renamed), seat) for number, seat in enumerate(self.seats)]

    def views(self) -> Iterator[tuple[SharedSeat, View]]:
        """Its slots that hold a batch."""
        return ((seat, view) for seat in self.seats if (view := seat.view()) is not None)

    def leave(self) -> None:
        """Tell it to claim no more, and to end with what it runs."""
        self.is_leaving = True
        self.say(DRAIN)

    def say(self, word: bytes) -> None:
        """Send it a word. One that has gone hears nothing."""
        with suppress(OSError):
            self.line.sendall(word)

    def kill(self) -> None:
        """End it now."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


Holding = tuple[Member, SharedSeat, View]


class Crew:
    """All runners that live, and what the dead have left."""

    def __init__(
        self,
        broker: Broker,
        options: WorkerOptions,
        desk: Desk,
        board: Board,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self.board = board
        self.handback = Handback(broker, desk)
        self.members: dict[int, Member] = {}
        """Those that live, by serial number. The keeper alone adds and removes."""
        self.dead: list[Member] = []
        """Those whose tasks have not been looked after yet."""
        self.is_draining = False
        self.births = threading.Lock()
        """Held from the decision that there should be one more until it is a member: who drains sees all of them."""
        self.call_keeper: Callable[[], None] = lambda: None
        self.call_recovery: Callable[[], None] = lambda: None
        self._clock = clock
        self._gone = (0, 0)

    # --- members ------------------------------------------------------------------------------------------------------

    def join(self, serial: int, place: int, line: socket.socket) -> Member:
        """A runner is being born."""
        member = Member(
            serial=serial,
            place=place,
            name=runner_name(self.options.name, serial),
            seats=self.board.seats[place],
            line=line,
            born_at=self._clock(),
        )
        self.members = {**self.members, serial: member}
        return member

    def died(self, member: Member, death: str) -> None:
        """It is dead; its place is kept until its tasks have been looked after."""
        member.death = death
        member.line.close()
        self.dead = [*self.dead, member]
        self.members = {serial: each for serial, each in self.members.items() if each is not member}
        self.call_recovery()

    def buried(self, member: Member) -> None:
        """Nothing of it is left to look after."""
        processed, failed = (sum(counts) for counts in zip(*(seat.counts() for seat in member.seats), strict=True))
        self._gone = (self._gone[0] + processed, self._gone[1] + failed)
        self.dead = [each for each in self.dead if each is not member]

    def free_place(self) -> int | None:
        """A place on the board that nobody has."""
        taken = {member.place for member in [*self.members.values(), *self.dead]}
        return next((place for place in range(len(self.board.seats)) if place not in taken), None)

    def _everybody(self) -> list[Member]:
        return list(self.members.values())

    # --- hands --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """The keeper brings them to life."""
        self.call_keeper()

    def drain(self) -> None:
        """Tell each to claim no more and to end with what it runs; no new ones are born."""
        with self.births:
            self.is_draining = True
        for member in self._everybody():
            member.leave()
        self.call_keeper()

    @property
    def is_done(self) -> bool:
        """Whether nobody lives, and all that the dead held is looked after."""
        return self.is_draining and not self.members and not self.dead and not self.handback.queues

    @property
    def is_asking_in_vain(self) -> bool:
        """Each runner sees to that itself."""
        return False

    @property
    def is_stuck(self) -> bool:
        """A handler that never ends goes with its process."""
        return False

    @property
    def is_waiting(self) -> bool:
        """Whether a slot of some runner waits at the store now."""
        return any(self.board.is_waiting(member.place) for member in self._everybody())

    def abandon(self, timeout_seconds: float) -> bool:
        """Tell all to hand back what they run; end those that do not, and see to what they held."""
        for member in self._everybody():
            member.is_cut_off = True
            member.say(STOP)
        began = self._clock()
        if not self._wait_until_done(began + timeout_seconds / 2):
            for member in self._everybody():
                member.kill()
        return self._wait_until_done(began + timeout_seconds)

    def stop(self) -> None:
        """Whoever is left is ended."""
        for member in self._everybody():
            member.kill()

    def _wait_until_done(self, until: float) -> bool:
        while not self.is_done:
            if self._clock() >= until:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    # --- for the heart ------------------------------------------------------------------------------------------------

    def held_queues(self) -> list[str]:
        """The queues in which some slot holds something by the board, and those with something to be handed back."""
        held = {view.queue for member in self._everybody() for _, view in member.views() if view.holds_something}
        return sorted(held.union(self.handback.queues))

    def holdings(self, queue: str) -> list[tuple[str, Holding | None]]:
        """All slots, each with the batch of `queue` that it works on."""
        found: list[tuple[str, Holding | None]] = []
        for member in self._everybody():
            for holder, seat in member.holders():
                view = seat.view()
                is_there = view is not None and view.queue == queue
                found.append((holder, (member, seat, view) if is_there and view is not None else None))
        return found

    def renewed(self, holdings: Sequence[tuple[str, Holding | None]], beat: Beat, until: float) -> None:
        """Write the new deadlines on the board, and mark what is lost, or was asked to be cancelled."""
        for holder, holding in holdings:
            if holding is not None:
                self._heard(*holding, beat.held.get(holder), beat.cancels, until)

    def _heard(
        self, member: Member, seat: SharedSeat, view: View, held: Held | None, cancels: frozenset[str], until: float
    ) -> None:
        is_held = held is not None and held.token == view.token
        kept = set(held.task_ids) if held is not None and is_held else set()
        if is_held:
            seat.renew(view.number, until)
        for index, (task_id, status) in enumerate(zip(view.ids, view.statuses, strict=True)):
            if status not in (Status.WAITING, Status.RUNNING):
                continue
            if task_id not in kept:
                seat.mark(view.number, index, LOST)
            elif task_id in cancels:
                seat.mark(view.number, index, CANCELLED)
                member.cancels.setdefault(task_id, self._clock())

    def has_prefetched(self, queue: str) -> bool:
        """Whether a task of `queue` waits in some slot."""
        views = (view for member in self._everybody() for _, view in member.views())
        return any(view.queue == queue and any(view.waiting()) for view in views)

    def paused(self, queue: str) -> None:
        """Take back what has not been started of a queue that was paused."""
        for member in self._everybody():
            for seat, view in member.views():
                if view.queue == queue:
                    self.recall(seat, view)

    def recall(self, seat: SharedSeat, view: View) -> None:
        """Release what a slot has not started, for others to run."""
        released: list[Outcome] = [
            Released(lease=Lease(task_id, view.queue, view.token)) for task_id in seat.recall(view)
        ]
        if released:
            self.handback.add(released)
            self.call_recovery()

    # --- for the announcer --------------------------------------------------------------------------------------------

    def running(self) -> list[tuple[str, str, float]]:
        """Of each busy slot: task id, task type, seconds since its start."""
        now = self._clock()
        views = (view for member in self._everybody() for _, view in member.views())
        return [(view.running_id, view.task_type, round(now - view.started_at, 3)) for view in views if view.is_running]

    def prefetched(self) -> int:
        """Tasks that are claimed and not started."""
        return sum(len(list(view.waiting())) for member in self._everybody() for _, view in member.views())

    def counts(self) -> tuple[int, int]:
        """Attempts that ended, and how many of them failed, by the living and the dead."""
        counts = [seat.counts() for member in [*self._everybody(), *self.dead] for seat in member.seats]
        processed, failed = self._gone
        return processed + sum(each[0] for each in counts), failed + sum(each[1] for each in counts)
