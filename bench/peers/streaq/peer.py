"""streaq at the best setting we found: two processes on uvloop."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Streaq(PythonPeer):
    """See `setting`."""

    key = "streaq"
    label = "streaq, 2 processes × 64"
    setting = "2 processes, concurrency 64, uvloop, results not kept"
    folder = Path(__file__).resolve().parent
    most_tasks = 10_000
    has_bulk = True

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        return self.script(load, "streaq", "run", "app:worker", "--workers", "2")
