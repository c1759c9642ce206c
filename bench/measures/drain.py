"""Drain: how fast one worker empties a queue of no-op tasks, and what a task costs it and the engine."""

import time

from bench.errors import RunFailed
from bench.marks import Mark, census, middle, rate
from bench.measures.base import PRELOAD_SECONDS, STALL_SECONDS, Lab, Measured, Trial, per_task_us
from bench.peers.base import Peer
from bench.processes import Child, finish, running
from bench.sampler import Usage, between

GRACE_SECONDS = 0.3
"""How long we look for tasks that run a second time."""


class Drain(Trial):
    """One contender, one worker, `tasks` tasks that were all there before it started."""

    def __init__(self, peer: Peer, tasks: int) -> None:
        """Nothing runs yet."""
        self.peer = peer
        self.tasks = tasks
        self.key = f"drain/{peer.key}"

    def run(self, lab: Lab) -> Measured:
        """Preload, start the worker, watch the marks."""
        lab.reset()
        load = lab.load(self.tasks)
        finish(self.peer.preload(load), lab.log(f"{self.peer.key}-preload"), timeout=PRELOAD_SECONDS)
        started = lab.quiet_sample()
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            lab.wait_for_marks(1, worker)
            first, already = lab.sample(worker), lab.marks.count()
            lab.wait_for_marks(self.tasks, worker)
            last = lab.sample(worker)
            marks = settled_marks(lab, self.tasks, worker)
        return Measured(
            figures=_figures(marks, self.tasks, between(first, last), self.tasks - already),
            noise_cores=between(started, last).others_cores,
        )


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
