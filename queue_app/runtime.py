"""From settings to the broker, once per process. This is the only place that chooses a store."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from queue_app.brokers.base import Broker
from queue_app.conf import Settings, get_settings

if TYPE_CHECKING:
    from queue_app.brokers.redis.connection import Connection


class _Made(msgspec.Struct, frozen=True):
    """A broker, and what it was made for: another process, or other settings, need another."""

    pid: int
    settings: Settings
    broker: Broker

    def fits(self, pid: int, settings: Settings) -> bool:
        return self.pid == pid and (settings is self.settings or _place(settings) == _place(self.settings))


class Runtime:
    """Holds this process's broker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: _Made | None = None
        self._overrides: list[Broker] = []

    def broker(self) -> Broker:
        """The broker; made at the first call, and again after a fork or when the settings name another store."""
        if self._overrides:
            return self._overrides[-1]
        settings, made = get_settings(), self._made
        if made is not None and made.pid == os.getpid() and made.settings is settings:
            return made.broker
        return self._fitting(settings)

    @contextmanager
    def override(self, broker: Broker) -> Iterator[Broker]:
        """For tests: this broker, in every thread, until the block ends."""
        self._overrides.append(broker)
        try:
            yield broker
        finally:
            self._overrides.remove(broker)

    def after_fork(self) -> None:
        """In a child: whoever held the lock is not here to let go of it."""
        self._lock = threading.Lock()

    def _fitting(self, settings: Settings) -> Broker:
        with self._lock:
            made = self._made
            if made is None or not made.fits(os.getpid(), settings):
                self._let_go(made)
                made = _Made(os.getpid(), settings, _make(settings))
            self._made = _Made(made.pid, settings, made.broker)
            return made.broker

    def _let_go(self, made: _Made | None) -> None:
        self._made = None
        # A child must not close its parent's connections.
        if made is not None and made.pid == os.getpid():
            made.broker.close()


_runtime = Runtime()
os.register_at_fork(after_in_child=_runtime.after_fork)

get_broker = _runtime.broker
override = _runtime.override


def _place(settings: Settings) -> tuple[object, ...]:
    """What a broker is made from."""
    return settings.url, settings.engine_dir, settings.prefix, settings.retention


def _make(settings: Settings) -> Broker:
    """Raises ConfigurationError, and StoreUnavailable when the embedded engine cannot be started."""
    if settings.url == "memory://":
        from queue_app.brokers.memory import MemoryBroker

        return MemoryBroker(retention=settings.retention)
    from queue_app.brokers.redis import RedisBroker

    return RedisBroker(_connection(settings), prefix=settings.prefix, retention=settings.retention)


def _connection(settings: Settings) -> "Connection":
    if settings.url == "embedded://":
        from queue_app.brokers.redis.embedded import EmbeddedConnection

        return EmbeddedConnection(settings.engine_dir)
    from queue_app.brokers.redis import connect

    return connect(settings.url)
