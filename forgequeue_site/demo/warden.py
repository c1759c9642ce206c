"""Ends what the demo started, should the demo itself be killed.

The demo holds the other end of this process's standard input and writes there each process group that it starts, one
a line. When the demo ends, in whatever way, the operating system closes that end: the warden then ends every group
that is left, last started first, and itself. It runs in a session of its own, so that no Ctrl-C reaches it.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable

from forgequeue_site.demo.children import POLL_SECONDS, kill_group

PATIENCE_SECONDS = 8.0
"""Longer than the demo's worker drains, so that it still hands back what it holds."""


def watch(lines: Iterable[str]) -> None:
    """Wait for the demo to end, then leave nothing of it behind."""
    for group in reversed([int(line) for line in lines]):
        end(group)


def end(group: int) -> None:
    """Ask the group's leader to stop, and force what is left."""
    is_there = _signal(group, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while is_there and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        is_there = _signal(group, 0)
    kill_group(group)


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    watch(sys.stdin)
