"""What the harness asks of a contender: an environment, a way to preload tasks, and a worker that runs them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.files import ROOT
from bench.processes import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One run, as a contender sees it: the server, where its handler marks, how many tasks."""

    url: str
    marks: Path
    tasks: int

    def environment(self) -> dict[str, str]:
        """How a child process is told: `BENCH_*`, and the checkout to import `bench.mark` from."""
        return {
            "BENCH_URL": self.url,
            "BENCH_MARKS": str(self.marks),
            "BENCH_TASKS": str(self.tasks),
            "PYTHONPATH": str(ROOT),
        }


class Peer(ABC):
    """A contender: `key` in results and options, `label` in tables, `setting` as its own documentation would say it."""

    key: str
    label: str
    setting: str
    most_tasks: int | None = None
    """So many are enough for a steady rate; None drains as many as the others of the first rank."""
    has_bulk: bool = False
    """Whether it has a call that enqueues many."""

    @abstractmethod
    def install(self, cache: Path) -> None:
        """Make its environment, unless it is there. Raises Unavailable where this machine cannot have it."""

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Name → version of what is measured."""

    @abstractmethod
    def preload(self, load: Load) -> Command:
        """A command that enqueues the tasks 0 … load.tasks-1 and ends."""

    @abstractmethod
    def worker(self, load: Load) -> Command:
        """A command that runs tasks until it gets SIGTERM."""

    @abstractmethod
    def sender(self, load: Load, sends: Path, every_seconds: float) -> Command:
        """Enqueues the tasks one by one with a pause between them, and marks in `sends` when each call began."""

    @abstractmethod
    def enqueuer(self, load: Load, sends: Path, *, in_bulk: bool) -> Command:
        """Enqueues the tasks as fast as one client can, and marks when that began and ended: 0 and `load.tasks`."""
