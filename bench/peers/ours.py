"""ForgeQueue: one worker in one process, four threads. And the floor: the same scripts in a bare loop."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from bench.files import ROOT
from bench.peers.base import Load, Peer
from bench.processes import Command

CONCURRENCY = 4
FLOOR_BATCH = 64
"""The largest batch that the worker's default settings use."""
LIBRARIES = ("Django", "redis", "hiredis", "msgspec")


class Ours(Peer):
    """`manage.py runworker` with a fixed batch, or with default settings."""

    def __init__(self, batch: int | None = None) -> None:
        """`batch` None: the size adapts."""
        self.batch = batch
        self.key = "ours" if batch is None else f"ours-b{batch}"
        self.label = "ForgeQueue, default settings" if batch is None else f"ForgeQueue, batch {batch}"
        how = "adaptive batch" if batch is None else f"--batch-size {batch}"
        self.setting = f"1 process, {CONCURRENCY} threads, {how}"

    def install(self, cache: Path) -> None:
        """It is what the benchmark itself runs on."""

    def versions(self) -> Mapping[str, str]:
        """What it stands on."""
        return {name: version(name) for name in LIBRARIES}

    def preload(self, load: Load) -> Command:
        """Its own bulk enqueue."""
        return _python(load, "-m", "bench.ours.preload")

    def worker(self, load: Load) -> Command:
        """The command of the documentation."""
        batch = () if self.batch is None else ("--batch-size", str(self.batch))
        options = ("--processes", "0", "--concurrency", str(CONCURRENCY), *batch, "--queues", "tasks")
        return _python(load, "manage.py", "runworker", *options)

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """Enqueues `load.tasks` tasks one by one, and writes down when."""
        return self._sender(load, sends, every_seconds, through="task")

    def _sender(self, load: Load, sends: Path, every_seconds: float, *, through: str) -> Command:
        command = _python(load, "-m", "bench.ours.sender", str(every_seconds), through)
        return replace(command, env={**command.env, "BENCH_MARKS": str(sends)})


class OursLogging(Ours):
    """Default settings, and a line in the log for each task that ran well."""

    def __init__(self) -> None:
        """The log is a file on disk, as the other logs of the benchmark are."""
        super().__init__()
        self.key = "ours-log"
        self.label = "ForgeQueue, a log line per task"
        self.setting += ", LOG_EACH_TASK on, written to a file"

    def worker(self, load: Load) -> Command:
        """The same command with the setting on."""
        command = super().worker(load)
        return replace(command, env={**command.env, "BENCH_LOG_EACH_TASK": "1"})


class Floor(Ours):
    """A bare Python loop over the broker: no Django, no registry, no context, no limits."""

    def __init__(self) -> None:
        """The same batch and threads as the worker's default."""
        super().__init__(FLOOR_BATCH)
        self.key = "floor"
        self.label = "Floor: a bare loop over the scripts"
        self.setting = f"1 process, {CONCURRENCY} threads, batch {FLOOR_BATCH}, no product around it"

    def worker(self, load: Load) -> Command:
        """The loop."""
        return _python(load, "-m", "bench.ours.floor", str(CONCURRENCY), str(FLOOR_BATCH))

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """The broker's enqueue, called as it is."""
        return self._sender(load, sends, every_seconds, through="broker")


def _python(load: Load, *arguments: str) -> Command:
    env = load.environment() | {"DJANGO_SETTINGS_MODULE": "bench.ours.settings"}
    return Command(argv=(sys.executable, *arguments), cwd=ROOT, env=env)
