"""Huey at the best setting we found for it: worker processes, which do not share an interpreter lock."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class Huey(PythonPeer):
    """At most once: a worker that dies loses its task."""

    key = "huey"
    label = "Huey, 4 processes"
    setting = "4 worker processes, results not kept, at most once"
    folder = Path(__file__).resolve().parent

    def worker(self, load: Load) -> Command:
        """The command of its documentation, without log lines."""
        options = ("--workers", "4", "--worker-type", "process", "--graceful-signal", "TERM", "--quiet")
        return self.python(load, "-m", "huey.bin.huey_consumer", *options, "app.huey")
