"""arq at the best setting we found: a short poll, without which it starts 100 tasks each half second."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Arq(PythonPeer):
    """See `setting`."""

    key = "arq"
    label = "arq, 100 jobs"
    setting = "1 process, max_jobs 100, poll_delay 0.01 s, results not kept"
    folder = Path(__file__).resolve().parent
    most_tasks = 8_000

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        return self.script(load, "arq", "app.WorkerSettings")
