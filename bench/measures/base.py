"""What every measurement works with, and what it answers."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import sampler
from bench.engine import Engine
from bench.errors import RunFailed
from bench.marks import MarksFile
from bench.peers.base import Load
from bench.processes import Child, last_line
from bench.sampler import Sample, Usage

START_SECONDS = 60.0
"""A worker that has not run its first task by then is broken."""
STALL_SECONDS = 30.0
"""So is one that then runs none for this long."""
PRELOAD_SECONDS = 900.0
POLL_SECONDS = 0.003


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one run, by name, and what others took of the machine meanwhile (cores)."""

    figures: Mapping[str, float]
    noise_cores: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lab:
    """The server, the marks file and the logs of a benchmark."""

    engine: Engine
    marks: MarksFile
    logs: Path
    quiet_seconds: float = 4.0
    embedded: Engine | None = None
    """A second server: the one that comes with `embedded://`."""

    def load(self, tasks: int) -> Load:
        """What to tell a contender."""
        return Load(url=self.engine.url, marks=self.marks.path, tasks=tasks)

    def log(self, name: str) -> Path:
        """Where a child's output goes."""
        return self.logs / f"{name}.log"

    def reset(self) -> None:
        """An empty server and an empty marks file."""
        self.engine.reset()
        self.marks.clear()

    def sample(self, worker: Child | None = None) -> Sample:
        """Processor time of the engine, the worker, the harness and the machine, now."""
        return sampler.sample({"engine": self.engine.pid, "worker": worker.pid if worker else None})

    def quiet_sample(self, worker: Child | None = None) -> Sample:
        """The same, once the machine is quiet, or after a while in any case."""
        pids = {"engine": self.engine.pid, "worker": worker.pid if worker else None}
        sampler.wait_for_quiet(pids, timeout=self.quiet_seconds)
        return self.sample(worker)

    def wait_for_marks(self, count: int, worker: Child) -> None:
        """Until `count` handlers have started. Raises RunFailed when the worker ends or stands still before."""
        seen, deadline = 0, time.monotonic() + START_SECONDS
        while (now_seen := self.marks.count()) < count:
            worker.check()
            if now_seen != seen:
                seen, deadline = now_seen, time.monotonic() + STALL_SECONDS
            elif time.monotonic() > deadline:
                raise RunFailed(
                    f"{worker.log.stem} stood still at {seen:,} of {count:,} tasks: {last_line(worker.log)}"
                )
            time.sleep(POLL_SECONDS)


class Trial(ABC):
    """Something to measure, again and again. `key` names it in the results."""

    key: str
    seconds: float = 10.0
    """About how long one takes."""

    @abstractmethod
    def run(self, lab: Lab) -> Measured:
        """Measure once. Raises RunFailed when there is nothing to measure."""


def per_task_us(usage: Usage, name: str, tasks: int) -> float:
    """Processor microseconds that `name` used per task."""
    return usage.cpu.get(name, 0.0) / max(tasks, 1) * 1e6
