"""The no-op task, and its worker."""

import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from streaq import Worker

from bench.mark import mark

logging.disable(logging.INFO)
worker = Worker(redis_url=os.environ["BENCH_URL"], concurrency=64)


@worker.task(ttl=0)
async def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """The worker's connections."""
    async with worker:
        yield


async def enqueue(index: int) -> None:
    """One."""
    await noop.enqueue(index)


async def enqueue_many(indexes: Sequence[int]) -> None:
    """In one pipeline."""
    await worker.enqueue_many([noop.enqueue(index) for index in indexes])
