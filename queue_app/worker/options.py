"""What a worker is told to be. Settings arrive here as values; nothing below the command reads them."""

import os
import socket
from dataclasses import dataclass, field

from queue_app.brokers.base import LEASE_SECONDS
from queue_app.core.errors import InvalidArgument
from queue_app.core.ids import new_token
from queue_app.core.names import DEFAULT_QUEUE, valid_queue

LONGEST_WAIT_SECONDS = 5.0
"""How long an idle worker sleeps at most before it tries a claim: bounds a marker that was lost on its way."""
FOREIGN_WAIT_SECONDS = 1.0
"""The same where others push tasks and ring nobody."""
DRAIN_SECONDS = 30.0
CANCEL_GRACE_SECONDS = 10.0
"""How long a handler may ignore that its task is cancelled, until its runner is ended."""
STALL_SECONDS = 60.0
"""How long a runner may be stopped (SIGSTOP) until it is ended."""
CONCURRENCY = 4
HEAVIEST = 1_000
"""The largest weight of a queue."""
LARGEST_BATCH = 64
BATCH_SECONDS = 0.1
"""An adaptive batch holds at most this much expected work."""


def new_worker_name(beginning: str | None = None) -> str:
    """A name that no other process has: `beginning` or the host, pid, and some random text, for a pid comes again.

    Raises InvalidName for a beginning that is no name.
    """
    host = socket.gethostname() if beginning is None else valid_queue(beginning)
    return f"{host}-{os.getpid()}-{new_token()[:6]}"


def queues_of(text: str) -> tuple[tuple[str, int], ...]:
    """Queues and weights from text like `mail:6,tasks:3,reports`. Raises InvalidName or InvalidArgument."""
    pairs = [_queue_and_weight(part.strip()) for part in text.split(",")]
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InvalidArgument(f"{text!r} names a queue twice")
    return tuple(pairs)


def _queue_and_weight(part: str) -> tuple[str, int]:
    name, colon, weight = part.partition(":")
    if not colon:
        return valid_queue(name), 1
    if not (weight.isascii() and weight.isdecimal() and 0 < int(weight) <= HEAVIEST):
        raise InvalidArgument(f"the weight of {part!r} is not a whole number from 1 to {HEAVIEST:,}")
    return valid_queue(name), int(weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """A worker in numbers. Durations are seconds."""

    name: str = field(default_factory=new_worker_name)
    queues: tuple[tuple[str, int], ...] = ((DEFAULT_QUEUE, 1),)
    """Queues and their weights. With `strict` the order is the rank, and weights mean nothing."""
    strict: bool = False
    concurrency: int = CONCURRENCY
    batch_size: int | None = None
    """None adapts it to the work."""
    lease_seconds: float = LEASE_SECONDS
    drain_seconds: float = DRAIN_SECONDS
    processes: int = 0
    """Runner processes; with 0 the worker is one process."""
    cancel_grace_seconds: float = CANCEL_GRACE_SECONDS
    stall_seconds: float = STALL_SECONDS
    max_tasks: int | None = None
    """After so many attempts a runner is replaced; None for never, here and below."""
    max_seconds: float | None = None
    """After so long, and when it holds so much memory (resident, in bytes)."""
    max_memory_bytes: int | None = None
    burst: bool = False
    foreign_producers: bool = False
    log_each_task: bool = False

    @property
    def queue_names(self) -> tuple[str, ...]:
        """The queues, in order."""
        return tuple(queue for queue, _ in self.queues)

    @property
    def beat_seconds(self) -> float:
        """A third of the lease: two beats may fail before it runs out."""
        return self.lease_seconds / 3

    @property
    def longest_wait_seconds(self) -> float:
        """How long an idle worker sleeps at most."""
        return FOREIGN_WAIT_SECONDS if self.foreign_producers else LONGEST_WAIT_SECONDS
