"""Dramatiq at the best setting we found for it: few threads in two processes, and a large prefetch."""

from dataclasses import replace
from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command

PREFETCH = 1000
"""The default, twice the threads, lets its consumer sleep between fetches: a fifth of the speed."""


class Dramatiq(PythonPeer):
    """See `setting`."""

    key = "dramatiq"
    label = "Dramatiq, 2 processes × 2 threads"
    setting = f"2 processes × 2 threads, prefetch {PREFETCH}, default middleware, no results"
    folder = Path(__file__).resolve().parent

    def worker(self, load: Load) -> Command:
        """The command of its documentation, without log lines."""
        command = self.python(load, "-m", "dramatiq", "--processes", "2", "--threads", "2", "--skip-logging", "app")
        return replace(command, env={**command.env, "dramatiq_queue_prefetch": str(PREFETCH)})
