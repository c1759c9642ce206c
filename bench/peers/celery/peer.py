"""Celery with its default pool, acknowledging late: at least once, as ours."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Celery(PythonPeer):
    """See `setting`."""

    key = "celery"
    label = "Celery, prefork 4"
    setting = "4 prefork processes, acks_late, ignore_result, no events, gossip or mingle"
    folder = Path(__file__).resolve().parent
    most_tasks = 8_000

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        quiet = ("--loglevel", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat")
        return self.python(
            load, "-m", "celery", "-A", "app", "worker", "--pool", "prefork", "--concurrency", "4", *quiet
        )
