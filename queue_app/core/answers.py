"""What a broker answers: values, no behaviour."""

from enum import StrEnum

import msgspec

from queue_app.core import codec
from queue_app.core.errors import UndecodableBody
from queue_app.core.lease import Claimed
from queue_app.core.states import State
from queue_app.core.task import Task


class Enqueue(msgspec.Struct, frozen=True, kw_only=True):
    """A task to store, due at `due_at` (Unix seconds) or in `delay_seconds` by the store's clock; else at once."""

    task: Task
    delay_seconds: float = 0.0
    due_at: float | None = None


class Receipt(msgspec.Struct, frozen=True):
    """The answer to an enqueue. `created` is False for a repeat: the store knew the id or the key, and changed nothing.

    `conflict` says that the key was used before with another type or payload.
    """

    task_id: str
    created: bool
    conflict: bool = False


class Settled(StrEnum):
    """What the store did with one outcome of an exchange."""

    DONE = "done"
    CANCELLED = "cancelled"
    """Settled, but as cancelled: somebody had asked for that while it ran."""
    REPEATED = "repeated"
    """This token had settled it before; nothing changed."""
    GONE = "gone"
    """The store does not know the task any more. To a caller that repeats a call, this is a yes."""
    LOST = "lost"
    """Another claim or the reclaimer owns it now; nothing changed."""


class Standing(StrEnum):
    """Why an exchange claimed what it claimed."""

    CLAIMED = "claimed"
    EMPTY = "empty"
    MORE = "more"
    """Nothing usable in a long run of dead entries: call again rather than wait."""
    PAUSED = "paused"
    CLOSED = "closed"
    """The holder's name was abandoned: it will never claim again."""
    UNASKED = "unasked"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an exchange. `settled` names only outcomes that are not plainly DONE."""

    now: float
    standing: Standing
    claimed: list[Claimed] = []
    settled: dict[str, Settled] = {}
    next_due_at: float | None = None
    next_expiry_at: float | None = None


class Held(msgspec.Struct, frozen=True):
    """What one holder holds by the store's word."""

    token: str
    task_ids: tuple[str, ...]


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a heartbeat: what each holder still holds, until when, and which of it should stop.

    A task that its holder runs and that is not in `held` is lost.
    """

    now: float
    until: float
    held: dict[str, Held]
    cancels: frozenset[str] = frozenset()


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks a slice of maintenance moved, and when there will be more to move (now, when `more`)."""

    count: int
    more: bool = False
    next_at: float | None = None


class Asked(StrEnum):
    """What became of a person's cancel or delete."""

    DONE = "done"
    REQUESTED = "requested"
    """The task runs: its runner is told by the next heartbeat, and it can still succeed first (delete: then gone)."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A task as the store sees it at one moment. `at` is its due time, lease expiry or finish, by state."""

    id: str
    queue: str
    state: State
    body: bytes
    at: float | None = None
    result: bytes | None = None
    cancel_requested: bool = False

    @property
    def task(self) -> Task:
        """The decoded body; UndecodableBody when it is none."""
        return codec.decode(self.body, self.id)

    @property
    def problem(self) -> str:
        """Why the body cannot be decoded, or nothing."""
        try:
            codec.decode(self.body, self.id)
        except UndecodableBody as error:
            return str(error)
        return ""


class Page(msgspec.Struct, frozen=True):
    """A part of a list. `cursor` fetches the next one; None at the end. Over a moving list it may skip or repeat."""

    snapshots: list[Snapshot]
    cursor: str | None = None


class Recent(msgspec.Struct, frozen=True):
    """One line of the capped list of recently finished tasks: for display, never an answer to `get`."""

    finished_at: float
    state: State
    task_id: str
    task_type: str
    attempt: int
    seconds: float


class QueueStats(msgspec.Struct, frozen=True, kw_only=True):
    """A queue in numbers. `counts` has every state; `totals` counts events since the queue began."""

    queue: str
    counts: dict[State, int]
    totals: dict[str, int]
    paused: bool = False
    paused_by_all: bool = False


class Bucket(msgspec.Struct, frozen=True):
    """Events of one stretch of time, which began at `start`."""

    start: float
    counts: dict[str, int]


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker says of itself every few seconds."""

    name: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    concurrency: int
    started_at: float
    seen_at: float = 0.0
    draining: bool = False
    running: tuple[tuple[str, str, float], ...] = ()
    """Of each busy slot: task id, task type, seconds since its start."""
    prefetched: int = 0
    processed: int = 0
    failed: int = 0
