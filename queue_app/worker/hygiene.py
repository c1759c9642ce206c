"""What Django expects around a unit of work, at no cost where it is not used.

Database connections are looked at only on a thread that has opened one: Django says so when it connects. Language, time
zone and every other context variable need no reset, since each attempt runs in a copy of its thread's context.
"""

import contextvars
import threading
from typing import Any

from django.core.cache import InvalidCacheBackendError, caches
from django.db import close_old_connections, connections, reset_queries
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

_threads: set[int] = set()
"""Threads of this process that have opened a database connection since they were last seen to have none."""
_slots: set[int] = set()
"""Those that are slots; what others open was opened for an async handler."""


def _connected(**_: Any) -> None:
    _threads.add(threading.get_ident())


connection_created.connect(_connected, dispatch_uid="forgequeue.worker.hygiene")


def begin_thread() -> contextvars.Context:
    """The context that attempts on this thread run in copies of.

    It holds the cache backends: made in a copy they would be made anew, connections and all, for each task.
    """
    _slots.add(threading.get_ident())
    context = contextvars.Context()
    context.run(_open_caches)
    return context


def tidy() -> None:
    """Before and after a unit of work: close connections that are broken or too old, or in a transaction left open."""
    if _threads and threading.get_ident() in _threads:
        _tidy()


def end_thread() -> None:
    """The thread ends: its connections would stay open for as long as the process lives."""
    connections.close_all()
    _threads.discard(threading.get_ident())
    _slots.discard(threading.get_ident())


def is_used_on_async_threads() -> bool:
    """Whether a thread that is no slot has a connection. The main thread opens one for checks before we start."""
    return bool(_threads - _slots - {threading.main_thread().ident})


def _tidy() -> None:
    reset_queries()
    mine = connections.all(initialized_only=True)
    # First: Django does not really close a connection that is in a transaction, and then never opens it again.
    for connection in mine:
        if connection.in_atomic_block and threading.get_ident() in _slots:
            _end_transaction(connection)
    close_old_connections()
    if all(connection.connection is None for connection in mine):
        _threads.discard(threading.get_ident())


def _end_transaction(connection: BaseDatabaseWrapper) -> None:
    """A handler left `atomic` without ending it: nothing of that may reach the next task."""
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.atomic_blocks = []
    connection.needs_rollback = False
    connection.close()
    if connection.connection is not None:
        # SQLite in memory, as tests have it, is never closed.
        connection.rollback()
        connection.set_autocommit(True)


def _open_caches() -> None:
    for alias in caches.settings:
        try:
            caches[alias]
        except InvalidCacheBackendError:
            # A task that uses it says so better.
            continue
