"""The async lane: one event loop, on a thread of its own, for the `async def` handlers of a runner.

A slot gives it a coroutine and waits for the result, so that an async task is claimed, renewed, handed back and settled
as any other.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from asgiref.sync import sync_to_async

from queue_app.context import TIMEOUT, SoftTimeLimit
from queue_app.core.lease import Lease
from queue_app.worker import hygiene
from queue_app.worker.forks import end_if_forked

CLOSE_SECONDS = 1.0


class Visit:
    """One coroutine on the lane. Cancelled when its task should stop, or has run for longer than it may; the slot goes
    on waiting until it has ended."""

    def __init__(
        self, lease: Lease, loop: asyncio.AbstractEventLoop, told: Callable[[str], None], timeout: float | None = None
    ) -> None:
        self.lease = lease
        self._timeout = timeout
        self._loop = loop
        self._told = told
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False
        self._is_expired = False

    def stop(self, reason: str) -> None:
        """Tell the handler's context, and cancel the coroutine at its next await."""
        self._told(reason)
        if not self._is_stopped:
            self._is_stopped = True
            # A loop that has been closed has nothing left to cancel.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._cancel)

    async def follow(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run the coroutine to its end. Raises SoftTimeLimit where the time limit ended it."""
        self._task = asyncio.current_task()
        if self._is_stopped:
            raise asyncio.CancelledError
        timer = None if self._timeout is None else self._loop.call_later(self._timeout, self._expire)
        try:
            return await make()
        except asyncio.CancelledError:
            if self._is_expired:
                raise SoftTimeLimit from None
            raise
        finally:
            self._task = None
            if timer is not None:
                timer.cancel()

    def _expire(self) -> None:
        self._is_expired = True
        self._told(TIMEOUT)
        self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class Lane:
    """Started with the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        _lanes.add(self)

    def visit(self, lease: Lease, told: Callable[[str], None], timeout: float | None = None) -> Visit:
        """A visit to be run, for `timeout` seconds at most."""
        return Visit(lease, self._started(), told, timeout)

    def run(self, visit: Visit, make: Callable[[], Awaitable[Any]]) -> Any:
        """The coroutine's result, or its exception. Blocks until it has ended."""
        future = asyncio.run_coroutine_threadsafe(self._with_hygiene(visit, make), self._started())
        value, error = future.result()
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Stop the loop. Coroutines that still run are abandoned with it."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(CLOSE_SECONDS)

    def after_fork(self) -> None:
        """In a child, which has every visit too: not one of them goes on there."""
        if self._loop is not None:
            self._loop.stop()

    async def _with_hygiene(
        self, visit: Visit, make: Callable[[], Awaitable[Any]]
    ) -> tuple[Any, SystemExit | KeyboardInterrupt | None]:
        """The result; or one of the exceptions that asyncio would let end the loop, and every other visit with it."""
        try:
            return await visit.follow(make), None
        except (SystemExit, KeyboardInterrupt) as error:
            return None, error
        finally:
            if hygiene.is_used_on_async_threads():
                await sync_to_async(hygiene.tidy)()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="forgequeue-async", daemon=True
                )
                self._thread.start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        home = os.getpid()
        asyncio.set_event_loop(loop)
        try:
            # A handler may stop the loop, too: that ends nobody but itself.
            while self._loop is loop:
                loop.run_forever()
                end_if_forked(home, "an async task")
        finally:
            loop.close()


_lanes: WeakSet[Lane] = WeakSet()


def _after_fork() -> None:
    for lane in _lanes:
        lane.after_fork()


os.register_at_fork(after_in_child=_after_fork)
