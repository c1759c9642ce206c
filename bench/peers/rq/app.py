"""The no-op job."""

import os
from collections.abc import Sequence

from redis import Redis
from rq import Queue

from bench.mark import mark

queue = Queue("bench", connection=Redis.from_url(os.environ["BENCH_URL"]))


def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue(index: int) -> None:
    """One."""
    queue.enqueue(noop, index, result_ttl=0)


def enqueue_many(indexes: Sequence[int]) -> None:
    """In one pipeline."""
    queue.enqueue_many([Queue.prepare_data(noop, args=(index,), result_ttl=0) for index in indexes])
