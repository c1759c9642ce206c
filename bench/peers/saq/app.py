"""The no-op job, and the worker's settings."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from saq import Queue

from bench.mark import mark

uvloop.install()
queue = Queue.from_url(os.environ["BENCH_URL"], name="bench")


async def noop(ctx: dict[str, Any], *, index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """The queue's connections."""
    await queue.connect()
    yield
    await queue.disconnect()


async def enqueue(index: int) -> None:
    """One."""
    await queue.enqueue("noop", index=index, ttl=-1)


settings = {"queue": queue, "functions": [noop], "concurrency": 20}
