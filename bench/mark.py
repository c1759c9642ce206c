"""What every no-op handler does, and all it does: one 16-byte append that says when it started and which task it was.

Imported by ours and by the Python peers in their own environments, so it needs nothing but the standard library.
The Node peer has the same in JavaScript. CLOCK_MONOTONIC is one clock for all processes of a machine.
"""

import os
import struct
import time

RECORD = struct.Struct("<dd")
"""Seconds of the monotonic clock, index of the task."""

_now = time.monotonic
_pack = RECORD.pack
_write = os.write


def open_marks(path: str) -> int:
    """A descriptor to mark on; appends of 16 bytes from many processes do not mix."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


_descriptor = open_marks(os.environ["BENCH_MARKS"]) if "BENCH_MARKS" in os.environ else -1


def mark(index: int) -> None:
    """Note that the task `index` starts now."""
    _write(_descriptor, _pack(_now(), index))
