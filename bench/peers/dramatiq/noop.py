"""The no-op actor, for preload and worker alike."""

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.mark import mark

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_URL"]))


@dramatiq.actor
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue_all() -> None:
    """The tasks 0 … BENCH_TASKS-1, one by one."""
    for index in range(int(os.environ["BENCH_TASKS"])):
        noop.send(index)
