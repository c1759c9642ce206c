"""The no-op task."""

import os

from huey import RedisHuey

from bench.mark import mark

huey = RedisHuey("bench", url=os.environ["BENCH_URL"], results=False)


@huey.task()
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue(index: int) -> None:
    """One."""
    noop(index)
