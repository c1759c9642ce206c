"""Dramatiq at the best setting we found for it: few threads in two processes, and a large prefetch."""

from collections.abc import Mapping
from pathlib import Path

from bench.environments import make_venv, pins
from bench.peers.base import Load, Peer
from bench.processes import Command

SOURCE = Path(__file__).resolve().parent
PREFETCH = 1000
"""The default, twice the threads, lets its consumer sleep between fetches: a fifth of the speed."""


class Dramatiq(Peer):
    """2 processes × 2 threads, default middleware."""

    def __init__(self) -> None:
        """Nothing is installed yet."""
        self.key = "dramatiq"
        self.label = "Dramatiq, 2 processes × 2 threads"
        self.setting = f"2 processes × 2 threads, prefetch {PREFETCH}, default middleware, no results"
        self._python = Path("python")

    def install(self, cache: Path) -> None:
        """A venv."""
        self._python = make_venv(cache / "peers" / "dramatiq", SOURCE / "requirements.txt")

    def versions(self) -> Mapping[str, str]:
        """The pinned requirements."""
        return pins(SOURCE / "requirements.txt")

    def preload(self, load: Load) -> Command:
        """One by one: it has no bulk call."""
        return self._command(load, "-c", "import noop; noop.enqueue_all()")

    def worker(self, load: Load) -> Command:
        """The command of its documentation, without log lines."""
        return self._command(load, "-m", "dramatiq", "--processes", "2", "--threads", "2", "--skip-logging", "noop")

    def _command(self, load: Load, *arguments: str) -> Command:
        env = load.environment() | {"dramatiq_queue_prefetch": str(PREFETCH)}
        return Command(argv=(str(self._python), *arguments), cwd=SOURCE, env=env)
