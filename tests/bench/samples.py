"""Results as a run would leave them, and a contender that needs nothing."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.files import ROOT
from bench.peers.base import Load, Peer
from bench.processes import Command
from bench.results import Record

HEADER = {
    "started": "2026-12-01T10:00:00Z",
    "rounds": 2,
    "tasks": 50_000,
    "latency_tasks": 200,
    "idle_seconds": 20.0,
    "drained": 20_000,
    "enqueued": 5_000,
    "bulk": 20_000,
    "due": 300_000,
    "left_out": {"A peer, 4 workers": "node was not found"},
    "engine": "Redis 7.0.15",
    "persistence": "appendonly yes, appendfsync everysec",
    "machine": {"processor": "a processor", "cores": "2", "memory": "23 GiB", "system": "a Linux"},
    "versions": {"Python": "3.11.7", "bullmq": "5.81.5"},
    "code": "abc",
    "commit": "1234567",
}


def record(trial: str, *, noise_cores: float = 0.0, error: str = "", **figures: float) -> Record:
    """A record as a trial would leave it."""
    return Record(trial=trial, at=HEADER["started"], noise_cores=noise_cores, figures=figures, error=error)


def drained(contender: str, rate: float, *, noise_cores: float = 0.0, lost: float = 0) -> Record:
    """A drain at `rate`."""
    return record(
        f"drain/{contender}",
        noise_cores=noise_cores,
        tasks_per_s=rate,
        middle_tasks_per_s=rate * 1.1,
        worker_us=40,
        engine_us=10,
        worker_cores=0.9,
        engine_cores=0.5,
        lost=lost,
        doubled=0,
        tasks=50_000,
        task_bytes=300,
    )


class Script(Peer):
    """A contender whose worker is a few lines of Python; `mark` and `tasks` are there."""

    def __init__(self, lines: str) -> None:
        self.key = self.label = self.setting = "script"
        self._lines = lines

    def install(self, cache: Path) -> None:
        """Nothing to do."""

    def versions(self) -> Mapping[str, str]:
        """None."""
        return {}

    def preload(self, load: Load) -> Command:
        """Nothing to enqueue."""
        return self._python(load, "pass")

    def worker(self, load: Load) -> Command:
        """The lines, then a long sleep, as a worker waits."""
        return self._python(load, self._lines + "\nimport time; time.sleep(60)")

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """Nothing to enqueue."""
        return self._python(load, "pass")

    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:
        """The lines are those of the client here, and `sends` what it marks in."""
        command = self._python(load, self._lines)
        return replace(command, env={**command.env, "BENCH_MARKS": str(sends)})

    def _python(self, load: Load, lines: str) -> Command:
        start = "import os; from bench.mark import mark; tasks = range(int(os.environ['BENCH_TASKS']))\n"
        return Command(argv=(sys.executable, "-c", start + lines), cwd=ROOT, env=load.environment())
