"""The no-op task, for preload and worker alike."""

import os

from huey import RedisHuey

from bench.mark import mark

huey = RedisHuey("bench", url=os.environ["BENCH_URL"], results=False)


@huey.task()
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue_all() -> None:
    """The tasks 0 … BENCH_TASKS-1, one by one."""
    for index in range(int(os.environ["BENCH_TASKS"])):
        noop(index)
