"""Latency: from the enqueue call to the first line of the handler, while the worker has nothing else to do."""

from pathlib import Path

from bench.errors import RunFailed
from bench.marks import Mark, MarksFile
from bench.measures.base import Lab, Measured, Trial
from bench.peers.base import Peer
from bench.processes import finish, running
from bench.sampler import between

EVERY_SECONDS = 0.05
WARM_UP = 10
"""The first tasks, which open connections and load scripts, are not counted."""


class Latency(Trial):
    """One task each 50 ms, from a second process, to an idle worker."""

    def __init__(self, peer: Peer, tasks: int) -> None:
        """Nothing runs yet."""
        self.peer = peer
        self.key = f"latency/{peer.key}"
        self.tasks = tasks + WARM_UP
        self.seconds = 4.0 + self.tasks * EVERY_SECONDS

    def run(self, lab: Lab) -> Measured:
        """Start the worker, send, compare when each task was sent and when it started."""
        lab.reset()
        load = lab.load(self.tasks)
        sends = MarksFile(lab.marks.path.with_name("sends"))
        sends.clear()
        before = lab.quiet_sample()
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            self._send(lab, sends.path)
            lab.wait_for_marks(self.tasks, worker)
            usage = between(before, lab.sample(worker))
        return Measured(figures=figures(sends.read(), lab.marks.read()), noise_cores=usage.others_cores)

    def _send(self, lab: Lab, sends: Path) -> None:
        command = self.peer.sender(lab.load(self.tasks), sends, EVERY_SECONDS)
        finish(command, lab.log(f"{self.peer.key}-sender"), timeout=60 + 10 * self.tasks * EVERY_SECONDS)


def figures(sends: list[Mark], starts: list[Mark]) -> dict[str, float]:
    """Percentiles in milliseconds over all but the warm-up; a task that ran twice counts by its first start."""
    started: dict[float, float] = {}
    for at, index in starts:
        started.setdefault(index, at)
    waits = sorted((started[index] - at) * 1e3 for at, index in sends if index >= WARM_UP and index in started)
    if not waits:
        raise RunFailed("no task was both sent and started")
    return {
        "p50_ms": percentile(waits, 50),
        "p99_ms": percentile(waits, 99),
        "max_ms": waits[-1],
        "tasks": len(waits),
    }


def percentile(ordered: list[float], percent: float) -> float:
    """The smallest value that `percent` % of the values do not exceed (nearest rank)."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]
