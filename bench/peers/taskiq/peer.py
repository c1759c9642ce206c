"""taskiq on streams, the broker that acknowledges."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Taskiq(PythonPeer):
    """See `setting`."""

    key = "taskiq"
    label = "taskiq, 2 processes × 100"
    setting = "stream broker, 2 processes, 100 tasks each, prefetch 100, arguments not parsed, no results"
    folder = Path(__file__).resolve().parent
    most_tasks = 20_000

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        limits = ("--workers", "2", "--max-async-tasks", "100", "--max-prefetch", "100", "--no-parse")
        return self.script(load, "taskiq", "worker", "app:broker", *limits, "--log-level", "ERROR")
