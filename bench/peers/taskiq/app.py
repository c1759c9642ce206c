"""The no-op task."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from taskiq_redis import RedisStreamBroker

from bench.mark import mark

broker = RedisStreamBroker(url=os.environ["BENCH_URL"])


@broker.task
async def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """The broker's connections."""
    await broker.startup()
    yield
    await broker.shutdown()


async def enqueue(index: int) -> None:
    """One."""
    await noop.kiq(index)
