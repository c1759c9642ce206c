"""Huey at the best setting we found for it: worker processes, which do not share an interpreter lock."""

from collections.abc import Mapping
from pathlib import Path

from bench.environments import make_venv, pins
from bench.peers.base import Load, Peer
from bench.processes import Command

SOURCE = Path(__file__).resolve().parent


class Huey(Peer):
    """4 worker processes. At most once: a worker that dies loses its task."""

    def __init__(self) -> None:
        """Nothing is installed yet."""
        self.key = "huey"
        self.label = "Huey, 4 processes"
        self.setting = "4 worker processes, results not kept, at most once"
        self._python = Path("python")

    def install(self, cache: Path) -> None:
        """A venv."""
        self._python = make_venv(cache / "peers" / "huey", SOURCE / "requirements.txt")

    def versions(self) -> Mapping[str, str]:
        """The pinned requirements."""
        return pins(SOURCE / "requirements.txt")

    def preload(self, load: Load) -> Command:
        """One by one: it has no bulk call."""
        return self._command(load, "-c", "import noop; noop.enqueue_all()")

    def worker(self, load: Load) -> Command:
        """The command of its documentation, without log lines."""
        options = ("--workers", "4", "--worker-type", "process", "--graceful-signal", "TERM", "--quiet")
        return self._command(load, "-m", "huey.bin.huey_consumer", *options, "noop.huey")

    def _command(self, load: Load, *arguments: str) -> Command:
        return Command(argv=(str(self._python), *arguments), cwd=SOURCE, env=load.environment())
