"""Due: many tasks that fall due in the same moment, and whether the server still answers others meanwhile."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bench.measures.base import PRELOAD_SECONDS, Lab, Measured, Trial
from bench.measures.latency import percentile
from bench.peers.ours import Ours
from bench.processes import finish, running
from bench.sampler import between

PING_EVERY_SECONDS = 0.002
LEAD_SECONDS = 12.0
"""From the first enqueue: all are stored by then."""


class Due(Trial):
    """`tasks` delayed tasks, one moment, one worker that waits for it."""

    def __init__(self, peer: Ours, tasks: int) -> None:
        """Nothing runs yet."""
        self.peer = peer
        self.tasks = tasks
        self.key = f"due/{tasks}"
        self.seconds = 25.0

    def run(self, lab: Lab) -> Measured:
        """Store them, start the worker, ping until the last has started."""
        lab.reset()
        load = lab.load(self.tasks)
        due_at = time.time() + LEAD_SECONDS
        preload = self.peer.preload(load)
        preload = replace(preload, env={**preload.env, "BENCH_DUE_AT": str(due_at)})
        finish(preload, lab.log("due-preload"), timeout=PRELOAD_SECONDS)
        before = lab.sample()
        with running(self.peer.worker(load), lab.log(self.peer.key)) as worker:
            time.sleep(max(due_at - time.time() - 0.5, 0.0))
            with pinging(lab) as pings:
                lab.wait_for_marks(self.tasks, worker)
            lasted = time.time() - due_at
            usage = between(before, lab.sample(worker))
        waits = sorted(seconds * 1e3 for seconds in pings)
        return Measured(
            figures={
                "last_after_s": lasted,
                "ping_p50_ms": percentile(waits, 50),
                "ping_p99_ms": percentile(waits, 99),
                "ping_max_ms": waits[-1],
                "pings": len(waits),
            },
            noise_cores=usage.others_cores,
        )


@contextmanager
def pinging(lab: Lab) -> Iterator[list[float]]:
    """Ask the server every few milliseconds how it is; the answers' delays in seconds."""
    pings: list[float] = []
    over = threading.Event()

    def ping() -> None:
        while not over.wait(PING_EVERY_SECONDS):
            pings.append(lab.engine.ping_seconds())

    thread = threading.Thread(target=ping)
    thread.start()
    try:
        yield pings
    finally:
        over.set()
        thread.join()
