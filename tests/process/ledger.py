"""The effect ledger: what tasks really did, whatever the queue says of it.

Each line is written with one call to a file that is opened for appending, so lines of many processes never mix.
"""

import json
import os
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATH_VARIABLE = "PROCESS_LEDGER"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One effect. `at` is the machine's monotonic clock, the same in all its processes."""

    what: str
    task_id: str
    attempt: int
    worker: str
    pid: int
    thread: int
    at: float


class Ledger:
    """Reads the file that tasks append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: list[Entry] = []
        self._read_to = 0
        path.touch()

    def entries(self, what: str | None = None) -> list[Entry]:
        """What was written, in order."""
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._entries.append(Entry(**json.loads(line)))
                self._read_to += len(line)
        return [entry for entry in self._entries if what in (None, entry.what)]

    def by_task(self, what: str) -> dict[str, list[Entry]]:
        """The entries of one kind by task."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries(what):
            found[entry.task_id].append(entry)
        return found

    def ended(self) -> set[str]:
        """The tasks that came to their end."""
        return {entry.task_id for entry in self.entries("end")}

    def started(self) -> set[str]:
        """The tasks that began."""
        return {entry.task_id for entry in self.entries("start")}


def note(context: Any, what: str) -> None:
    """Called by a task."""
    entry = {
        "what": what,
        "task_id": context.id,
        "attempt": context.attempt,
        "worker": context.worker,
        "pid": os.getpid(),
        "thread": threading.get_ident(),
        "at": time.monotonic(),
    }
    file = os.open(os.environ[PATH_VARIABLE], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(file)
