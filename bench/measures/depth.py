"""Depth: whether a task costs more when more tasks wait behind it."""

from bench.marks import Mark, rate
from bench.measures.base import PRELOAD_SECONDS, Lab, Measured, Trial, per_task_us
from bench.peers.ours import Ours
from bench.processes import finish, running
from bench.sampler import between

WARM_UP_SHARE = 0.1


class Depth(Trial):
    """The first `drained` tasks of a queue of `depth`."""

    def __init__(self, peer: Ours, depth: int, drained: int) -> None:
        """A queue shorter than `drained` is emptied."""
        self.peer = peer
        self.depth = depth
        self.drained = min(depth, drained)
        self.key = f"depth/{depth}"
        self.seconds = 6.0 + depth / 40_000

    def run(self, lab: Lab) -> Measured:
        """Preload, start the worker, stop it after the first tasks."""
        lab.reset()
        load = lab.load(self.depth)
        finish(self.peer.preload(load), lab.log("depth-preload"), timeout=PRELOAD_SECONDS)
        before = lab.quiet_sample()
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            lab.wait_for_marks(1, worker)
            first, already, scripts = lab.sample(worker), lab.marks.count(), lab.engine.script_seconds()
            lab.wait_for_marks(self.drained, worker)
            last, counted = lab.sample(worker), lab.marks.count() - already
            scripts = lab.engine.script_seconds() - scripts
        return Measured(
            figures={
                "wall_us": wall_us(lab.marks.read()[: self.drained]),
                "worker_us": per_task_us(between(first, last), "worker", counted),
                "script_us": scripts / max(counted, 1) * 1e6,
            },
            noise_cores=between(before, last).others_cores,
        )


def wall_us(marks: list[Mark]) -> float:
    """Microseconds from one start to the next, without the first tenth, in which a worker gets going."""
    speed = rate(marks[int(len(marks) * WARM_UP_SHARE) :])
    return 1e6 / speed if speed else 0.0
