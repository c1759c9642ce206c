"""RQ without the fork for each task, which costs it 10 ms: the faster of its two workers."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Rq(PythonPeer):
    """See `setting`."""

    key = "rq"
    label = "RQ, pool of 4"
    setting = "worker-pool of 4 SimpleWorkers, results not kept"
    folder = Path(__file__).resolve().parent
    most_tasks = 3_000
    has_bulk = True

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        pool = ("worker-pool", "--num-workers", "4", "--worker-class", "rq.worker.SimpleWorker", "--quiet")
        return self.script(load, "rq", *pool, "--path", ".", "--url", load.url, "bench")
