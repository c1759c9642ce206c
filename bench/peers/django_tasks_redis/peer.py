"""django-tasks-redis: the Redis backend of Django's own task framework. It needs Python 3.12 and Django 6."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class DjangoTasksRedis(PythonPeer):
    """See `setting`."""

    key = "django-tasks-redis"
    label = "django-tasks-redis, 4 processes"
    setting = "4 worker processes of its command, results dropped after a second"
    folder = Path(__file__).resolve().parent
    most_tasks = 5_000
    needs_newest_python = True

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        return self.python(load, "workers.py")
