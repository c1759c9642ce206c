"""For tests of code that enqueues: see what it enqueued, and run that, without a store and without a COMMIT.

    with capture_enqueued() as enqueued:
        place_order()
    enqueued.assert_enqueued(send_receipt, 42, times=1)
    enqueued.run()

A TestCase never commits, so an enqueue that waits for COMMIT would never be seen; here each is seen when it is called,
also in a transaction that is rolled back later. For every test of a class: `self.enqueued =
self.enterContext(capture_enqueued())` in setUp; with pytest, a fixture that yields inside of the block.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from queue_app import arguments, eager, runtime
from queue_app.brokers.base import Broker
from queue_app.brokers.memory import MemoryBroker
from queue_app.core.errors import InvalidArgument
from queue_app.core.ids import new_token
from queue_app.core.outcomes import Outcome
from queue_app.core.states import State
from queue_app.delivery import catching
from queue_app.functions import TaskFunction
from queue_app.prepared import PreparedTask
from queue_app.results import TaskResult
from queue_app.testing.clock import FakeClock

MOST_ATTEMPTS = 1_000
"""A test that needs more attempts than this has a task that enqueues or retries itself for ever."""
_LATER = (State.SCHEDULED, State.RETRYING)
_KEEP_SECONDS = 10 * 366 * 86_400.0

_active: list["Enqueued"] = []


class Enqueued:
    """What was enqueued, in order."""

    def __init__(self) -> None:
        self.tasks: list[PreparedTask] = []

    def matching(
        self, task: TaskFunction[Any, Any] | str, /, *args: Any, queue: str | None = None, **kwargs: Any
    ) -> list[PreparedTask]:
        """Those of this task or type, in this queue and with these arguments where any are given.

        It does not matter whether an argument was given by place or by name. A raw payload is given as bytes. A task
        that has a parameter named `queue` or `times` itself is looked up in `tasks`.
        """
        return [
            each
            for each in self.tasks
            if each.task.task_type == (task if isinstance(task, str) else task.task_type)
            and queue in (None, each.task.queue)
            and ((not args and not kwargs) or _has_arguments(each, task, args, kwargs))
        ]

    def assert_enqueued(
        self,
        task: TaskFunction[Any, Any] | str,
        /,
        *args: Any,
        queue: str | None = None,
        times: int | None = None,
        **kwargs: Any,
    ) -> list[PreparedTask]:
        """Raises AssertionError unless it was enqueued `times` times; without `times`, at least once."""
        found = self.matching(task, *args, queue=queue, **kwargs)
        if bool(found) if times is None else len(found) == times:
            return found
        wanted = _shown(task if isinstance(task, str) else task.task_type, args, kwargs, queue)
        often = "" if times is None else f" {times} times, but {len(found)} times"
        raise AssertionError(f"{wanted} was not enqueued{often}. Enqueued: {self._listed()}")

    def assert_nothing_enqueued(self) -> None:
        """Raises AssertionError when anything was."""
        if self.tasks:
            raise AssertionError(f"nothing should have been enqueued. Enqueued: {self._listed()}")

    def run(self) -> list[TaskResult[Any]]:
        """Run everything, and what that enqueues, until all of it is finished; one handle for each, with its result.

        Time passes at once: what is delayed, retried or snoozed runs when its turn comes, on this thread. Handlers run
        as in a worker; what they raise is in `errors`. Raises AssertionError when it does not end.
        """
        with catching(self.tasks.append):
            return _Drain(self.tasks).run()

    def _listed(self) -> str:
        lines = [_shown(each.task.task_type, *_arguments_of(each), each.task.queue) for each in self.tasks]
        return "".join(f"\n  {line}" for line in lines) or "nothing"

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[PreparedTask]:
        return iter(self.tasks)


@contextmanager
def capture_enqueued() -> Iterator[Enqueued]:
    """Keep what this process enqueues from here on, in whatever thread, instead of enqueueing it."""
    enqueued = Enqueued()
    _active.append(enqueued)
    try:
        with catching(enqueued.tasks.append):
            yield enqueued
    finally:
        _active.remove(enqueued)


def assert_enqueued(
    task: TaskFunction[Any, Any] | str,
    /,
    *args: Any,
    queue: str | None = None,
    times: int | None = None,
    **kwargs: Any,
) -> list[PreparedTask]:
    """The method of the same name, of the innermost capture_enqueued block that is open. Raises AssertionError."""
    return _innermost().assert_enqueued(task, *args, queue=queue, times=times, **kwargs)


def run_enqueued() -> list[TaskResult[Any]]:
    """`Enqueued.run` of the innermost capture_enqueued block that is open."""
    return _innermost().run()


def override_broker(broker: Broker) -> AbstractContextManager[Broker]:
    """Use this broker in the whole process until the block ends: `with override_broker(MemoryBroker()) as broker:`."""
    return runtime.override(broker)


def _innermost() -> Enqueued:
    if not _active:
        raise AssertionError("nothing is seen outside of a capture_enqueued() block: put the code under test into one")
    return _active[-1]


# --- comparing --------------------------------------------------------------------------------------------------------


def _has_arguments(
    prepared: PreparedTask, task: TaskFunction[Any, Any] | str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    if isinstance(task, str):
        return (args, kwargs) == _arguments_of(prepared)
    return task.binding.named(args, kwargs) == task.binding.named(*_arguments_of(prepared))


def _arguments_of(prepared: PreparedTask) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        args, kwargs = arguments.decode(prepared.task.payload)
    except InvalidArgument:
        return (prepared.task.payload,), {}
    return tuple(args), kwargs


def _shown(task_type: str, args: tuple[Any, ...], kwargs: dict[str, Any], queue: str | None) -> str:
    words = [*(f"{each!r:.80}" for each in args), *(f"{name}={each!r:.80}" for name, each in kwargs.items())]
    return f"{task_type}({', '.join(words)})" + (f" in {queue}" if queue is not None else "")


# --- running ----------------------------------------------------------------------------------------------------------


class _Drain:
    """Runs tasks on a store of their own, whose clock jumps to whatever is due next."""

    def __init__(self, tasks: list[PreparedTask]) -> None:
        self._tasks = tasks
        self._taken = 0
        self._clock = FakeClock(time.time())
        self._broker = MemoryBroker(clock=self._clock)

    def run(self) -> list[TaskResult[Any]]:
        for _ in range(MOST_ATTEMPTS):
            self._take()
            if not self._run_one() and not self._jump():
                return [TaskResult.of(self._broker.get(task_id)) for task_id in self._ids()]
        raise AssertionError(
            f"still not finished after {MOST_ATTEMPTS} attempts; the last tasks are {self._ids()[-5:]}"
        )

    def _take(self) -> None:
        new, self._taken = self._tasks[self._taken :], len(self._tasks)
        self._broker.enqueue_many([each.entry for each in new])

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(each.id for each in self._tasks))

    def _run_one(self) -> bool:
        """Run one task that is ready; whether there was one."""
        for queue in self._broker.queues():
            for claimed in self._broker.claim(queue, holder="test"):
                self._settle(queue, eager.attempt(claimed, keep_seconds=_KEEP_SECONDS, now=self._clock.now()))
                return True
        return False

    def _settle(self, queue: str, outcome: Outcome) -> None:
        self._broker.exchange(queue, holder="test", token=new_token(), outcomes=[outcome])

    def _jump(self) -> bool:
        """Let the time pass until something is due; whether anything ever will be."""
        queues = self._broker.queues()
        pages = [self._broker.list_tasks(queue, state, limit=1) for queue in queues for state in _LATER]
        dues = [snapshot.at for page in pages for snapshot in page.snapshots if snapshot.at is not None]
        if not dues:
            return False
        self._clock.advance(max(min(dues) - self._clock.now(), 0.0))
        for queue in queues:
            self._broker.promote(queue)
        return True
