"""The floor: threads that exchange batches with the engine's scripts and mark each task. floor.py <threads> <batch>

What a worker must do and no more: no Django, no registry, no context, no limits, no errors, no heart.
"""

import os
import signal
import sys
import threading

from bench.mark import mark
from bench.ours.payload import index_of
from queue_app.brokers.redis import RedisBroker, connect
from queue_app.core.ids import new_token
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Succeeded

QUEUE = "tasks"
LULL_SECONDS = 1.0


def main(threads: int, batch: int) -> None:
    """Run until SIGTERM, which ends it at once."""
    broker = RedisBroker(connect(os.environ["BENCH_URL"]))
    for number in range(threads):
        threading.Thread(target=loop, args=(broker, f"floor-{number}", batch), daemon=True).start()
    signal.pause()


def loop(broker: RedisBroker, holder: str, batch: int) -> None:
    """Settle the last batch and claim the next in one call, again and again."""
    done: list[Succeeded] = []
    while True:
        answer = broker.exchange(QUEUE, holder=holder, token=new_token(), outcomes=done, want=batch)
        done = [run(claimed) for claimed in answer.claimed]
        if not done:
            broker.wait([QUEUE], LULL_SECONDS)


def run(claimed: Claimed) -> Succeeded:
    """The handler's work."""
    mark(index_of(claimed))
    return Succeeded(lease=claimed.lease)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
