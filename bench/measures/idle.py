"""Idle: what a worker with nothing to do asks of the engine, and what it uses of a processor and of memory."""

import time
from collections import Counter

from bench.measures.base import Lab, Measured, Trial
from bench.peers.base import Peer
from bench.processes import finish, running
from bench.sampler import between, memory_of

SETTLE_SECONDS = 3.0
"""After its first task: connections opened for the start are idle by then."""


class Idle(Trial):
    """A worker that has run one task and then none for `seconds`."""

    def __init__(self, peer: Peer, watched_seconds: float) -> None:
        """Nothing runs yet."""
        self.peer = peer
        self.watched_seconds = watched_seconds
        self.key = f"idle/{peer.key}"
        self.seconds = watched_seconds + 8.0

    def run(self, lab: Lab) -> Measured:
        """Start the worker, let it run one task, then listen."""
        lab.reset()
        load = lab.load(1)
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            finish(self.peer.preload(load), lab.log(f"{self.peer.key}-preload"), timeout=60)
            lab.wait_for_marks(1, worker)
            time.sleep(SETTLE_SECONDS)
            before = lab.quiet_sample(worker)
            calls = lab.engine.calls_during(self.watched_seconds)
            usage = between(before, lab.sample(worker))
            memory = memory_of(worker.pid)
        return Measured(
            figures={
                "calls_per_s": calls.total() / usage.seconds,
                "worker_core_percent": usage.cores("worker") * 100,
                "engine_core_percent": usage.cores("engine") * 100,
                "memory_mb": memory / 1e6,
            },
            noise_cores=usage.others_cores,
            note=describe(calls),
        )


def describe(calls: Counter[str]) -> str:
    """Which commands, most first: "blpop 4, evalsha 2"."""
    return ", ".join(f"{name} {count}" for name, count in calls.most_common())
