"""BullMQ 5: one Node process; its slots share a connection, and one script both finishes a job and takes the next."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.environments import make_node_modules, node_pins
from bench.peers.base import Load, Peer
from bench.processes import Command

SOURCE = Path(__file__).resolve().parent


class BullMQ(Peer):
    """One worker at `concurrency`."""

    has_bulk = True

    def __init__(self, concurrency: int) -> None:
        """Nothing is installed yet."""
        self.concurrency = concurrency
        self.key = f"bullmq-c{concurrency}"
        self.label = f"BullMQ, concurrency {concurrency}"
        self.setting = f"1 process, concurrency {concurrency}, completed jobs removed"
        self._folder = SOURCE

    def install(self, cache: Path) -> None:
        """Node modules from the lock file."""
        self._folder = make_node_modules(cache / "peers" / "bullmq", SOURCE)

    def versions(self) -> Mapping[str, str]:
        """bullmq and its Redis client."""
        return node_pins(SOURCE / "package.json")

    def preload(self, load: Load) -> Command:
        """Bulk calls of 1,000."""
        return self._node(load, "preload.mjs")

    def worker(self, load: Load) -> Command:
        """One process."""
        return self._node(load, "worker.mjs", str(self.concurrency))

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """`add`, awaited, at a pace."""
        return self._marking(load, sends, "paced", str(every_seconds))

    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:
        """`add`, awaited, or `addBulk` with 1,000 at a time."""
        return self._marking(load, sends, "bulk" if in_bulk else "single")

    def _marking(self, load: Load, sends: Path, *arguments: str) -> Command:
        command = self._node(load, "sender.mjs", *arguments)
        return replace(command, env={**command.env, "BENCH_MARKS": str(sends)})

    def _node(self, load: Load, script: str, *arguments: str) -> Command:
        argv = ("node", str(self._folder / script), *arguments)
        return Command(argv=argv, cwd=self._folder, env=load.environment() | {"NODE_ENV": "production"})
