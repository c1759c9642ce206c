"""ForgeQueue: one worker with one runner, four threads. And the floor: the same scripts in a bare loop."""

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

    has_bulk = True

    def __init__(self, batch: int | None = None) -> None:
        """`batch` None: the size adapts."""
        self.batch = batch
        self.key = "ours" if batch is None else f"ours-b{batch}"
        self.label = "ForgeQueue, default settings" if batch is None else f"ForgeQueue, batch {batch}"
        how = "adaptive batch" if batch is None else f"--batch-size {batch}"
        self.setting = f"supervisor and 1 runner process, {CONCURRENCY} threads, {how}"
        self.processes = 1

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
        slots = ("--processes", str(self.processes), "--concurrency", str(CONCURRENCY))
        return _python(load, "manage.py", "runworker", *slots, *batch, "--queues", "tasks")

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """Enqueues `load.tasks` tasks one by one, and writes down when."""
        return self._sender(load, sends, "task", str(every_seconds))

    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:
        """`enqueue`, or `enqueue_many` with 1,000 at a time."""
        return self._sender(load, sends, "bulk" if in_bulk else "single")

    def _sender(self, load: Load, sends: Path, *arguments: str) -> Command:
        command = _python(load, "-m", "bench.ours.sender", *arguments)
        return replace(command, env={**command.env, "BENCH_MARKS": str(sends)})


class OursAlone(Ours):
    """Default settings in one process."""

    def __init__(self) -> None:
        """No supervisor."""
        super().__init__()
        self.key = "ours-p0"
        self.label = "ForgeQueue, one process"
        self.setting = f"--processes 0: 1 process, {CONCURRENCY} threads, adaptive batch"
        self.processes = 0


class OursTwice(Ours):
    """Default settings with two runner processes."""

    def __init__(self) -> None:
        """A supervisor and two runners."""
        super().__init__()
        self.key = "ours-p2"
        self.label = "ForgeQueue, two runners"
        self.setting = f"supervisor and 2 runner processes, {CONCURRENCY} threads each, adaptive batch"
        self.processes = 2


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

    has_bulk = False

    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """The broker's enqueue, called as it is."""
        return self._sender(load, sends, "broker", str(every_seconds))

    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:  # noqa: ARG002 - it has no bulk call
        """The bare command of an enqueue, EVALSHA with all its arguments made beforehand."""
        return self._sender(load, sends, "bare")


def _python(load: Load, *arguments: str) -> Command:
    env = load.environment() | {"DJANGO_SETTINGS_MODULE": "bench.ours.settings"}
    return Command(argv=(sys.executable, *arguments), cwd=ROOT, env=env)
