"""A connection that does as a worker does: a call that was not answered is made again, the same in every word."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from queue_app.brokers.redis import Connection
from queue_app.brokers.redis.connection import Call, Reply
from queue_app.core.errors import StoreUnavailable

TRIES = 4
T = TypeVar("T")


class Repeating:
    """Stands in for the connection that it is given."""

    def __init__(self, inner: Connection) -> None:
        self._inner = inner
        self.is_cluster = inner.is_cluster

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        return self._again(lambda: self._inner.run(calls))

    def command(self, *words: str | bytes | float) -> Reply:
        return self._again(lambda: self._inner.command(*words))

    def block(self, lists: Sequence[str], timeout_seconds: float) -> str | None:
        return self._again(lambda: self._inner.block(lists, timeout_seconds))

    def close(self) -> None:
        self._inner.close()

    def _again(self, call: Callable[[], T]) -> T:
        for _ in range(TRIES):
            try:
                return call()
            except StoreUnavailable:
                continue
        return call()
