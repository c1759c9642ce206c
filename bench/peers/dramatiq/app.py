"""The no-op actor."""

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.mark import mark

dramatiq.set_broker(RedisBroker(url=os.environ["BENCH_URL"]))


@dramatiq.actor
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue(index: int) -> None:
    """One."""
    noop.send(index)
