"""SAQ at the best setting we found: two processes on uvloop."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Saq(PythonPeer):
    """See `setting`."""

    key = "saq"
    label = "SAQ, 2 processes × 20"
    setting = "2 processes, concurrency 20, uvloop, results not kept"
    folder = Path(__file__).resolve().parent
    most_tasks = 10_000

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        return self.script(load, "saq", "--quiet", "--workers", "2", "app.settings")
