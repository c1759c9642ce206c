"""The no-op job."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from baqueue import BaQueueConfig, Job, Queue

from bench.mark import mark


@Job.as_job(queue="bench")
async def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """The driver's connections."""
    Queue.configure(BaQueueConfig(driver={"name": "redis", "url": os.environ["BENCH_URL"]}))
    await Queue.connect()
    yield
    await Queue.disconnect()


async def enqueue(index: int) -> None:
    """One."""
    await Queue.push(noop, index=index)


async def enqueue_many(indexes: Sequence[int]) -> None:
    """In one call."""
    await Queue.bulk([(noop, {"index": index}) for index in indexes])
