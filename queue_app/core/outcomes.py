"""What became of an attempt. An outcome is a value; the broker settles it, in one step, under the lease's token.

`note` is the line that the capped list of recently finished tasks shows; empty leaves it out.
"""

import msgspec

from queue_app.core.lease import Lease


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The base: every outcome presents a lease."""

    lease: Lease
    note: bytes = b""


class Succeeded(Outcome, frozen=True, kw_only=True):
    """It ran well: running → succeeded. Kept for `keep_seconds` with `result` and `body`, else gone at once."""

    keep_seconds: float = 0.0
    result: bytes = b""
    body: bytes = b""


class Failed(Outcome, frozen=True, kw_only=True):
    """It failed and has attempts left: running → retrying, due in `delay_seconds` by the store's clock."""

    body: bytes
    delay_seconds: float


class Snoozed(Outcome, frozen=True, kw_only=True):
    """It asked to run later; nothing is counted: running → scheduled, due in `delay_seconds`."""

    delay_seconds: float


class Spent(Outcome, frozen=True, kw_only=True):
    """It failed for the last time: running → dead."""

    body: bytes


class Released(Outcome, frozen=True, kw_only=True):
    """It is handed back unrun, or cut off by a shutdown; nothing is counted: running → ready, at the head."""


class Cancelled(Outcome, frozen=True, kw_only=True):
    """Its runner ended it because it was asked to, or because it came too late to start: running → cancelled."""

    body: bytes
