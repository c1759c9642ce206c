"""Tasks that the tests of the client enqueue: at the top level of a module, as tasks have to be."""

import enum
from typing import Any

from queue_app import Context, Reject, Retry, Snooze, handler, task
from queue_app.core.answers import Enqueue, Receipt
from queue_app.core.errors import StoreUnavailable

calls: list[tuple[Any, ...]] = []
"""What the tasks below were called with. The fixture `store` empties it."""


class Color(enum.Enum):
    RED = "red"


class Size(enum.StrEnum):
    LARGE = "large"


class Outer:
    class Level(enum.IntEnum):
        HIGH = 3


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Broken(Exception):
    """What failing tasks raise."""


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise Broken


@task
def add(a: int, b: int = 0) -> int:
    """Add two numbers.

    This is not part of the description.
    """
    calls.append((a, b))
    return a + b


@task(queue_name="mail", priority=7, max_attempts=5, timeout=30, hard_timeout=60, tags=["a", "b"], keep_result=60)
def send(user_id: int, *, subject: str = "hello") -> str:
    calls.append((user_id, subject))
    return f"{user_id} {subject}"


@task
async def add_later(a: int, b: int) -> int:
    calls.append((a, b))
    return a + b


@task(takes_context=True)
def count(context: Context, step: int = 1) -> int:
    return context.attempt * step


@task(takes_context=True)
async def count_later(context: Context, step: int = 1) -> int:
    return context.attempt * step


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    calls.append((args, kwargs))
    return [list(args), kwargs]


@task(max_attempts=3)
def fail(how: str, after: float | None = None) -> None:
    calls.append((how,))
    match how:
        case "retry":
            raise Retry(after=after)
        case "snooze":
            raise Snooze(after=after or 0)
        case "reject":
            raise Reject("not today")
        case "mute":
            raise Mute
    raise Broken("broken")


@task(max_attempts=1)
def fail_once() -> None:
    raise Broken("once")


@task
def unreadable_result() -> float:
    return float("nan")


@task
def parent() -> None:
    add.enqueue(1, 2)


@task(takes_context=True, max_attempts=4)
def third_time(context: Context) -> str:
    if context.attempt < 3:
        raise Broken(f"attempt {context.attempt}")
    return "at last"


@handler("tests.raw", queue_name="bytes", max_attempts=2)
def raw(payload: bytes) -> int:
    calls.append((payload,))
    return len(payload)


@handler("tests.raw_context", takes_context=True)
def raw_with_context(context: Context, payload: bytes) -> str:
    return f"{context.task_type} {payload.decode()}"


class FlakyBroker:
    """In front of a broker: fails as it is told to, before or after the store has acted."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.faults: list[str] = []
        self.calls: list[list[str]] = []

    def enqueue_many(self, entries: list[Enqueue]) -> list[Receipt]:
        self.calls.append([each.task.id for each in entries])
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise StoreUnavailable("down")
        receipts: list[Receipt] = self.broker.enqueue_many(entries)
        if fault == "after":
            raise StoreUnavailable("the answer was lost")
        return receipts

    def __getattr__(self, name: str) -> Any:
        return getattr(self.broker, name)
