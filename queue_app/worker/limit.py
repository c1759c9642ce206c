"""The soft time limit of a handler on a slot's thread: an exception that is raised in it from another thread.

The exception must land in the attempt it is meant for or nowhere. Python holds one that is set for a thread until that
thread next looks, so between "set" and "raised" the attempt may end. Setting it and taking it back are therefore one
step each under a lock; after `end` nothing is set, and nothing can be. Between taking that lock and taking the
exception back there is no call, hence no moment at which Python looks.
"""

import ctypes
import threading
from collections.abc import Callable

from queue_app.context import TIMEOUT, SoftTimeLimit

_set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_exception.argtypes = (ctypes.c_ulong, ctypes.py_object)
_NULL = ctypes.py_object()
"""Without a value, which C sees as NULL: takes back an exception that was set and not yet raised."""


class SoftLimit:
    """One attempt's limit. Made and ended by the thread that it holds for; others look."""

    __slots__ = ("_is_over", "_lock", "_tell", "_thread", "_until")

    def __init__(self, until: float, tell: Callable[[str], None]) -> None:
        """`until`: by the worker's clock. `tell` is called with the reason, just before the exception is set."""
        self._until = until
        self._tell = tell
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._is_over = False

    def look(self, now: float) -> None:
        """Raise SoftTimeLimit in the handler, once, when its time is up. A call that blocks outside Python, a sleep or
        a read of a socket, hears of it when it returns."""
        if now < self._until or not self._lock.acquire(blocking=False):
            return
        try:
            if not self._is_over:
                self._is_over = True
                self._tell(TIMEOUT)
                _set_exception(self._thread, SoftTimeLimit)
        finally:
            self._lock.release()

    def end(self) -> None:
        """The handler has returned: from now on nothing is raised. Called where SoftTimeLimit may still arrive; when
        it breaks this off, it has been raised and comes no second time."""
        with self._lock:
            self._is_over = True
            _set_exception(self._thread, _NULL)
