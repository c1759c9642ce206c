"""How long a store remembers what is over. Seconds; None keeps for ever."""

import msgspec


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """A succeeded task leaves at once unless it asked to be kept; the rest is for the owner of the store to say."""

    cancelled_seconds: float | None = 86_400.0
    dead_seconds: float | None = None
    """Nobody has looked at a dead task yet: it is kept until somebody does."""
    idempotency_seconds: float = 86_400.0
    """Counted from the enqueue, whatever became of the task."""
