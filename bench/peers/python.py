"""What the peers that are Python packages have in common: a venv with pinned releases, and the driver."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.environments import make_venv, newest_python, pins
from bench.peers.base import Load, Peer
from bench.processes import Command


class PythonPeer(Peer):
    """A package in a venv of its own, with an `app` module in the folder of its class."""

    folder: Path
    """With `requirements.txt` and `app.py`."""
    needs_newest_python = False

    def install(self, cache: Path) -> None:
        """A venv with exactly its requirements."""
        base = newest_python() if self.needs_newest_python else None
        self._python = make_venv(cache / "peers" / self.folder.name, self.folder / "requirements.txt", base)

    def versions(self) -> Mapping[str, str]:
        """The pinned requirements."""
        return pins(self.folder / "requirements.txt")

    def preload(self, load: Load) -> Command:
        """In bulk where it can."""
        return self._driver(load, "preload")

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """One by one, at a pace."""
        return _marking(self._driver(load, "paced", str(every_seconds)), sends)

    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:
        """As fast as one client can."""
        return _marking(self._driver(load, "bulk" if in_bulk else "single"), sends)

    def _driver(self, load: Load, *arguments: str) -> Command:
        return self.python(load, "-m", "bench.peers.driver", *arguments)

    def python(self, load: Load, *arguments: str) -> Command:
        """Its own interpreter, in its own folder, from which it imports `app`."""
        env = load.environment()
        env["PYTHONPATH"] = f"{self.folder}:{env['PYTHONPATH']}"
        return Command(argv=(str(self._python), *arguments), cwd=self.folder, env=env)

    def script(self, load: Load, name: str, *arguments: str) -> Command:
        """A command that the package has installed."""
        command = self.python(load)
        return replace(command, argv=(str(self._python.with_name(name)), *arguments))


def _marking(command: Command, sends: Path) -> Command:
    return replace(command, env={**command.env, "BENCH_MARKS": str(sends)})
