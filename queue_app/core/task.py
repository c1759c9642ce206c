"""A task: one unit of work, in the form in which it is stored."""

import msgspec

from queue_app.core.backoff import DEFAULT_BACKOFF, Backoff
from queue_app.core.names import DEFAULT_QUEUE

SCHEMA = 1
"""The version of the body that this code writes, and the newest that it reads."""

UNLIMITED = 0
"""`max_retries` of a task that is retried for ever, as the Go system gives it."""


class AttemptError(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one attempt died of."""

    attempt: int
    type: str
    message: str
    at: float
    traceback: str = ""
    worker: str = ""


class Task(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The body at `task:<id>`, field for field. The first five are the Go system's; the others are ours.

    Instants are Unix seconds, durations are seconds. A change is made on a copy, and on the stored bytes by
    `codec.amend`, which keeps fields that this version does not know.
    """

    id: str
    task_type: str
    # A factory keeps these three in every body: readers of the Go system expect them.
    payload: bytes | None = msgspec.field(default_factory=bytes)
    max_retries: int = msgspec.field(default_factory=int)
    attempts: int = msgspec.field(default_factory=int)
    schema: int = SCHEMA
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    enqueued_at: float | None = None
    due_at: float | None = None
    expires_at: float | None = None
    timeout: float | None = None
    hard_timeout: float | None = None
    backoff: Backoff | None = None
    keep_result: float = 0.0
    tags: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    idempotency_key: str | None = None
    revived: int = 0
    cancel_reason: str = ""
    errors: tuple[AttemptError, ...] = ()

    @property
    def attempt(self) -> int:
        """The number of the attempt that runs now, or would run next: `attempts` holds those that ended and counted."""
        return max(self.attempts, 0) + 1

    @property
    def max_attempts(self) -> int | None:
        """How many runs the task has in all; None for no limit."""
        return to_max_attempts(self.max_retries)

    @property
    def is_last_attempt(self) -> bool:
        """Whether a failure of the present attempt spends the budget."""
        return self.max_attempts is not None and self.attempt >= self.max_attempts

    @property
    def backoff_rule(self) -> Backoff:
        """The stored rule, or the default."""
        return self.backoff or DEFAULT_BACKOFF

    @property
    def last_error(self) -> AttemptError | None:
        """The newest error; it alone keeps its traceback."""
        return self.errors[-1] if self.errors else None


def to_max_attempts(max_retries: int) -> int | None:
    """The wire says retries after the first run: 0 for ever, n for n, -1 for none. Python says runs in all."""
    if max_retries == UNLIMITED:
        return None
    return 1 if max_retries < 0 else max_retries + 1


def to_max_retries(max_attempts: int | None) -> int:
    """The inverse of `to_max_attempts`."""
    if max_attempts is None:
        return UNLIMITED
    return -1 if max_attempts == 1 else max_attempts - 1
