"""Enqueues for a Python peer, in its own environment: driver.py preload|paced|single|bulk [seconds between]

The folder that it runs in has a module `app` with `enqueue(index)`, and `enqueue_many(indexes)` where the peer has a
call for many; both may be coroutine functions, and `session()` an asynchronous context manager around them.
"""

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from bench.mark import mark

SLICE = 1_000
"""How many a bulk call gets at once."""


async def main(how: str, seconds: float) -> None:
    """BENCH_TASKS tasks, one after the other."""
    app = importlib.import_module("app")
    indexes = range(int(os.environ["BENCH_TASKS"]))
    async with app.session() if hasattr(app, "session") else nullcontext():
        if how == "paced":
            await paced(app.enqueue, indexes, seconds)
        elif how == "single":
            await timed(one_by_one(app.enqueue, indexes), len(indexes))
        elif how == "bulk":
            await timed(in_slices(app.enqueue_many, indexes), len(indexes))
        elif hasattr(app, "enqueue_many"):
            await in_slices(app.enqueue_many, indexes)
        else:
            await one_by_one(app.enqueue, indexes)


async def paced(enqueue: Callable[[int], Any], indexes: Iterable[int], seconds: float) -> None:
    """One each so many seconds; when each call began is marked."""
    for index in indexes:
        mark(index)
        await _awaited(enqueue(index))
        await asyncio.sleep(seconds)


async def timed(calls: Any, count: int) -> None:
    """Marked when it begins and when it has ended."""
    mark(0)
    await calls
    mark(count)


async def one_by_one(enqueue: Callable[[int], Any], indexes: Iterable[int]) -> None:
    """The next when the last is done."""
    for index in indexes:
        await _awaited(enqueue(index))


async def in_slices(enqueue_many: Callable[[range], Any], indexes: range) -> None:
    """So many in a call."""
    for start in range(0, len(indexes), SLICE):
        await _awaited(enqueue_many(indexes[start : start + SLICE]))


async def _awaited(answer: Any) -> None:
    if inspect.isawaitable(answer):
        await answer


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
