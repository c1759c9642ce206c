"""The board: what each slot is doing, in memory that a supervisor shares with its runners.

A slot writes what it took and what it has come to; the supervisor reads that without asking a process which may be
dead, stopped, or kept by a handler that lets no other thread run. It writes back, for each slot, until when the lease
of its batch stands, and which tasks should stop. Each side writes fields of its own:

- The description of a batch is written while its number is odd. Who reads the same even number before and after has
  read a whole one; a slot whose number stays odd died over it, and had started nothing of that batch.
- Whether a waiting task is started, given back or recalled is decided under the slot's lock, which both sides take:
  what was recalled is never started. A process that dies with the lock in its hand leaves it to whoever cleans up.
- The deadline and the marks carry the number of the batch that they are about, so that none reaches the next one.

Every number is aligned to its size, so it is written and read whole. The memory is anonymous and goes to children by
fork; pages that nobody touches cost nothing.
"""

import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing import get_context
from multiprocessing.synchronize import Lock
from typing import Protocol

from queue_app.worker.batch import CANCELLED, LOST, Batch

LOCK_SECONDS = 0.05
"""Nobody holds a slot's lock for longer than it takes to write a byte, unless he was stopped over it."""
LONGEST_ID = 200
"""In characters, all of one byte. A longer id, or one with a line break, comes from a foreign producer."""
LONGEST_TYPE = 200

_NUMBER = struct.Struct("=Q")
_TIME = struct.Struct("=d")
_COUNTS = struct.Struct("=QQ")
_START = struct.Struct("=dQ")
_DETAILS = struct.Struct(f"=dB{LONGEST_TYPE}s")
_BATCH = struct.Struct("=IIIB63s")

# Where things are in a slot's part.
_SEQUENCE, _UNTIL_OF, _UNTIL, _STARTED, _COUNTED, _RENAMED, _BATCHED = 0, 8, 16, 24, 40, 56, 64
_DETAILS_OF, _DETAILED = 144, 152
_STATUSES = 368
# Of a runner: whether a slot of it waits at the store.
_RUNNER_BYTES = 8
# Of all: when the supervisor last looked.
_BOARD_BYTES = 8
_REASONS = (None, CANCELLED, LOST)


class Status(IntEnum):
    """What has become of one task of a batch."""

    WAITING = 0
    RUNNING = 1
    ENDED = 2
    SUCCEEDED = 3
    """Ended well, with nothing to keep: whoever finds it undelivered may ack it."""
    GIVEN_BACK = 4
    """Its own runner releases it."""
    RECALLED = 5
    """The supervisor releases it."""


class Seat(Protocol):
    """Where a slot writes what it does. Called on the slot's thread, except `give_back` and `news`."""

    def take(self, batch: Batch) -> None:
        """The slot has claimed this."""
        ...

    def start(self, index: int, now: float) -> bool:
        """The slot is about to start this task of its batch; False when it was recalled, and is not its any more."""
        ...

    def describe(self, task_type: str, hard_until: float) -> None:
        """What the running task is, and when its process is to be ended; 0 for never."""
        ...

    def ended(self, index: int, *, plainly: bool) -> None:
        """It has come to an end; `plainly` when it succeeded and nothing is kept of it."""
        ...

    def count(self, processed: int, failed: int) -> None:
        """How many attempts of this slot have ended, and failed, in all."""
        ...

    def clear(self) -> None:
        """All is delivered, and nothing was claimed."""
        ...

    def rename(self, times: int) -> None:
        """The slot goes on under its so-manieth further name."""
        ...

    def give_back(self, index: int) -> bool:
        """This task is to be released, not started; False when the supervisor has it already."""
        ...

    def news(self, batch: Batch) -> tuple[float, list[tuple[int, str]]]:
        """Until when the batch is renewed, 0 when nobody has; and which of its tasks should stop, with the reason."""
        ...


class NoSeat:
    """Of a worker that is one process: whoever wants to know asks the slot."""

    def take(self, batch: Batch) -> None:
        """Nobody looks."""

    def start(self, index: int, now: float) -> bool:  # noqa: ARG002 - see Seat
        """Nobody recalls anything."""
        return True

    def describe(self, task_type: str, hard_until: float) -> None:
        """Nobody looks."""

    def ended(self, index: int, *, plainly: bool) -> None:
        """Nobody looks."""

    def count(self, processed: int, failed: int) -> None:
        """Nobody looks."""

    def clear(self) -> None:
        """Nobody looks."""

    def rename(self, times: int) -> None:
        """Nobody looks."""

    def give_back(self, index: int) -> bool:  # noqa: ARG002 - see Seat
        """Nobody recalls anything."""
        return True

    def news(self, batch: Batch) -> tuple[float, list[tuple[int, str]]]:  # noqa: ARG002 - see Seat
        """There is nobody who would write any."""
        return 0.0, []


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A slot's batch at one moment."""

    number: int
    queue: str
    token: str
    ids: tuple[str, ...]
    statuses: tuple[Status, ...]
    started_at: float
    running: int
    """The index of the task that runs, or ran last."""
    task_type: str
    hard_until: float

    @property
    def is_running(self) -> bool:
        """Whether a handler runs."""
        return bool(self.ids) and self.statuses[self.running] is Status.RUNNING

    @property
    def running_id(self) -> str:
        """The task whose handler runs."""
        return self.ids[self.running]

    def waiting(self) -> Iterator[int]:
        """The tasks that have not been started, by index."""
        return (index for index, status in enumerate(self.statuses) if status is Status.WAITING)

    def status_of(self, task_id: str) -> Status:
        """What has become of a task; one whose id could not be written down may have been running."""
        return self.statuses[self.ids.index(task_id)] if task_id in self.ids else Status.RUNNING

    @property
    def holds_something(self) -> bool:
        """Whether something of it is not the store's again."""
        return any(status < Status.GIVEN_BACK for status in self.statuses)


class SharedSeat:
    """One slot's part of the board, for both sides."""

    def __init__(self, memory: mmap.mmap, offset: int, queues: Sequence[str], batch: int, lock: Lock) -> None:
        self._memory = memory
        self._at = offset
        self._queues = queues
        self._statuses = offset + _STATUSES
        self._marks = self._statuses + _aligned(batch)
        self._ids = self._marks + 8 * batch
        self._index = 0
        self._lock = lock
        self._acquire = lock.acquire
        self._release = lock.release

    @staticmethod
    def size(batch: int) -> int:
        """How many bytes it takes, for batches of so many tasks."""
        return _aligned(_STATUSES + _aligned(batch) + 8 * batch + (LONGEST_ID + 1) * batch)

    # --- the slot's side ----------------------------------------------------------------------------------------------

    def take(self, batch: Batch) -> None:
        memory, at, count = self._memory, self._at, len(batch.claimed)
        number = self._number
        batch.number = number + 2
        _NUMBER.pack_into(memory, at + _SEQUENCE, number + 1)
        ids = _joined([claimed.lease.task_id for claimed in batch.claimed])
        token = batch.token.encode()
        _BATCH.pack_into(memory, at + _BATCHED, self._queues.index(batch.queue), count, len(ids), len(token), token)
        _START.pack_into(memory, at + _STARTED, 0.0, 0)
        memory[self._statuses : self._statuses + count] = bytes(count)
        memory[self._ids : self._ids + len(ids)] = ids
        _NUMBER.pack_into(memory, at + _SEQUENCE, number + 2)

    def start(self, index: int, now: float) -> bool:
        memory, status = self._memory, self._statuses + index
        self._acquire()
        if memory[status]:
            self._release()
            return False
        memory[status] = 1
        self._release()
        _START.pack_into(memory, self._at + _STARTED, now, index)
        self._index = index
        return True

    def describe(self, task_type: str, hard_until: float) -> None:
        memory, at = self._memory, self._at
        text = task_type.encode()[:LONGEST_TYPE]
        _DETAILS.pack_into(memory, at + _DETAILED, hard_until, len(text), text)
        _NUMBER.pack_into(memory, at + _DETAILS_OF, _which(self._number, self._index))

    def ended(self, index: int, *, plainly: bool) -> None:
        self._memory[self._statuses + index] = 3 if plainly else 2

    def count(self, processed: int, failed: int) -> None:
        _COUNTS.pack_into(self._memory, self._at + _COUNTED, processed, failed)

    def clear(self) -> None:
        memory, at, number = self._memory, self._at, self._number
        _NUMBER.pack_into(memory, at + _SEQUENCE, number + 1)
        _BATCH.pack_into(memory, at + _BATCHED, 0, 0, 0, 0, b"")
        _NUMBER.pack_into(memory, at + _SEQUENCE, number + 2)

    def rename(self, times: int) -> None:
        _NUMBER.pack_into(self._memory, self._at + _RENAMED, times)

    def give_back(self, index: int) -> bool:
        return self._turn(index, Status.GIVEN_BACK)

    def news(self, batch: Batch) -> tuple[float, list[tuple[int, str]]]:
        memory, number = self._memory, batch.number
        until = 0.0
        if _NUMBER.unpack_from(memory, self._at + _UNTIL_OF)[0] == number:
            (until,) = _TIME.unpack_from(memory, self._at + _UNTIL)
        marks = struct.unpack_from(f"={len(batch.claimed)}Q", memory, self._marks)
        reasons = ((index, _REASONS[mark & 3]) for index, mark in enumerate(marks) if mark >> 2 == number)
        return until, [(index, reason) for index, reason in reasons if reason]

    # --- the supervisor's side ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """A new runner takes the place of one that is gone."""
        # Should that one have died with the lock in its hand, it is free after this too.
        self._lock.acquire(block=False)
        self._lock.release()
        self._memory[self._at : self._at + _STATUSES] = bytes(_STATUSES)

    def view(self) -> View | None:
        """The slot's batch; None when it has none, or was cut off while it wrote down a new one."""
        memory, at = self._memory, self._at
        for _ in range(3):
            number = self._number
            if number & 1:
                continue
            queue, count, ids_bytes, token_bytes, token = _BATCH.unpack_from(memory, at + _BATCHED)
            if not count:
                return None
            ids = memory[self._ids : self._ids + ids_bytes]
            statuses = memory[self._statuses : self._statuses + count]
            started_at, running = _START.unpack_from(memory, at + _STARTED)
            hard_until, type_bytes, task_type = _DETAILS.unpack_from(memory, at + _DETAILED)
            if _NUMBER.unpack_from(memory, at + _DETAILS_OF)[0] != _which(number, running):
                hard_until, type_bytes = 0.0, 0
            if number == self._number:
                return View(
                    number=number,
                    queue=self._queues[queue],
                    token=token[:token_bytes].decode(),
                    ids=tuple(ids.decode().split("\n")),
                    statuses=tuple(map(Status, statuses)),
                    started_at=started_at,
                    running=running,
                    task_type=task_type[:type_bytes].decode("utf-8", "replace"),
                    hard_until=hard_until,
                )
        return None

    def counts(self) -> tuple[int, int]:
        """Attempts that ended, and that failed, since the runner began."""
        processed, failed = _COUNTS.unpack_from(self._memory, self._at + _COUNTED)
        return processed, failed

    @property
    def renamed(self) -> int:
        """How many further names the slot has taken."""
        return int(_NUMBER.unpack_from(self._memory, self._at + _RENAMED)[0])

    def renew(self, number: int, until: float) -> None:
        """The lease of this batch stands until then."""
        _NUMBER.pack_into(self._memory, self._at + _UNTIL_OF, 0)
        _TIME.pack_into(self._memory, self._at + _UNTIL, until)
        _NUMBER.pack_into(self._memory, self._at + _UNTIL_OF, number)

    def mark(self, number: int, index: int, reason: str) -> None:
        """This task of this batch should stop, or not start."""
        _NUMBER.pack_into(self._memory, self._marks + 8 * index, number << 2 | _REASONS.index(reason))

    def recall(self, view: View) -> list[str]:
        """Take away what has not been started of this batch; the ids of what is now to be released."""
        return [view.ids[index] for index in view.waiting() if self._turn(index, Status.RECALLED, number=view.number)]

    # --- both ---------------------------------------------------------------------------------------------------------

    @property
    def _number(self) -> int:
        return int(_NUMBER.unpack_from(self._memory, self._at + _SEQUENCE)[0])

    def _turn(self, index: int, status: Status, *, number: int | None = None) -> bool:
        if not self._lock.acquire(timeout=LOCK_SECONDS):
            return False
        try:
            if number not in (None, self._number) or self._memory[self._statuses + index] != Status.WAITING:
                return False
            self._memory[self._statuses + index] = status
            return True
        finally:
            self._lock.release()


class Board:
    """Places for runners, each with a seat for each of its slots. Made before anybody is forked."""

    def __init__(self, *, places: int, slots: int, queues: Sequence[str], batch: int) -> None:
        """`batch` is the most tasks that a slot claims at once."""
        seat_bytes = SharedSeat.size(batch)
        self._place_bytes = _RUNNER_BYTES + slots * seat_bytes
        self._memory = mmap.mmap(-1, _BOARD_BYTES + places * self._place_bytes)
        context = get_context("fork")
        self.seats = [
            [
                SharedSeat(
                    self._memory, self._place(place) + _RUNNER_BYTES + slot * seat_bytes, queues, batch, context.Lock()
                )
                for slot in range(slots)
            ]
            for place in range(places)
        ]

    # --- the supervisor -----------------------------------------------------------------------------------------------

    def stamp(self, now: float) -> None:
        """The supervisor looks after its runners."""
        _TIME.pack_into(self._memory, 0, now)

    def stamped_ago(self, now: float) -> float:
        """Seconds since it last did."""
        return float(now - _TIME.unpack_from(self._memory, 0)[0])

    # --- runners ------------------------------------------------------------------------------------------------------

    def waits(self, place: int, *, at_store: bool) -> None:
        """Whether a slot of this runner waits at the store now."""
        self._memory[self._place(place)] = at_store

    def is_waiting(self, place: int) -> bool:
        """The same, read."""
        return bool(self._memory[self._place(place)])

    def open(self, place: int) -> None:
        """A new runner takes this place."""
        self.waits(place, at_store=False)
        for seat in self.seats[place]:
            seat.open()

    def _place(self, place: int) -> int:
        return _BOARD_BYTES + place * self._place_bytes


def _joined(ids: list[str]) -> bytes:
    """A line for each id, empty for one that does not fit in a line."""
    joined = "\n".join(ids).encode()
    if len(joined) > len(ids) * LONGEST_ID or joined.count(b"\n") >= len(ids):
        fitting = [each if len(each.encode()) <= LONGEST_ID and "\n" not in each else "" for each in ids]
        joined = "\n".join(fitting).encode()
    return joined


def _which(number: int, index: int) -> int:
    """A task of a batch, as one number."""
    return number << 16 | index


def _aligned(size: int) -> int:
    return -(-size // 8) * 8
