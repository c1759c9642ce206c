"""The no-op job, and the worker's settings."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings

from bench.mark import mark

SETTINGS = RedisSettings.from_dsn(os.environ["BENCH_URL"])
pool: Any = None


async def noop(ctx: dict[str, Any], index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


@asynccontextmanager
async def session() -> AsyncIterator[None]:
    """A pool of connections."""
    global pool
    pool = await create_pool(SETTINGS)
    yield
    await pool.aclose()


async def enqueue(index: int) -> None:
    """One."""
    await pool.enqueue_job("noop", index)


class WorkerSettings:
    """What `arq` reads."""

    functions = [noop]
    redis_settings = SETTINGS
    max_jobs = 100
    poll_delay = 0.01
    keep_result = 0
    log_results = False
