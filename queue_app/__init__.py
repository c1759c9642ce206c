"""ForgeQueue: a durable task queue for Django. These are its public names.

They are looked up when they are first used: the package can be imported before Django is set up, and its plain parts
(`core`, `brokers`) without Django.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_app.arguments import Unencodable
    from queue_app.client import (
        acancel,
        adelete,
        aenqueue,
        aenqueue_many,
        aget,
        arevive,
        cancel,
        delete,
        enqueue,
        enqueue_many,
        get,
        revive,
    )
    from queue_app.context import Context, SoftTimeLimit, TaskCancelled, TaskContext
    from queue_app.core.answers import Asked
    from queue_app.core.backoff import Backoff
    from queue_app.core.errors import (
        ConfigurationError,
        EnqueueUnknown,
        ForgeQueueError,
        IdempotencyConflict,
        InvalidArgument,
        InvalidName,
        PayloadTooLarge,
        StoreRefused,
        StoreUnavailable,
        TaskGone,
        WrongState,
    )
    from queue_app.core.states import State
    from queue_app.core.steering import Reject, Retry, Snooze
    from queue_app.decorators import InvalidTask, handler, task
    from queue_app.functions import TaskFunction
    from queue_app.prepared import PreparedTask
    from queue_app.registry import DuplicateHandler
    from queue_app.results import TaskResult

_PLACES = {
    "arguments": ("Unencodable",),
    "client": (
        "acancel",
        "adelete",
        "aenqueue",
        "aenqueue_many",
        "aget",
        "arevive",
        "cancel",
        "delete",
        "enqueue",
        "enqueue_many",
        "get",
        "revive",
    ),
    "context": ("Context", "SoftTimeLimit", "TaskCancelled", "TaskContext"),
    "core.answers": ("Asked",),
    "core.backoff": ("Backoff",),
    "core.errors": (
        "ConfigurationError",
        "EnqueueUnknown",
        "ForgeQueueError",
        "IdempotencyConflict",
        "InvalidArgument",
        "InvalidName",
        "PayloadTooLarge",
        "StoreRefused",
        "StoreUnavailable",
        "TaskGone",
        "WrongState",
    ),
    "core.states": ("State",),
    "core.steering": ("Reject", "Retry", "Snooze"),
    "decorators": ("InvalidTask", "handler", "task"),
    "functions": ("TaskFunction",),
    "prepared": ("PreparedTask",),
    "registry": ("DuplicateHandler",),
    "results": ("TaskResult",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Asked",
    "Backoff",
    "ConfigurationError",
    "Context",
    "DuplicateHandler",
    "EnqueueUnknown",
    "ForgeQueueError",
    "IdempotencyConflict",
    "InvalidArgument",
    "InvalidName",
    "InvalidTask",
    "PayloadTooLarge",
    "PreparedTask",
    "Reject",
    "Retry",
    "Snooze",
    "SoftTimeLimit",
    "State",
    "StoreRefused",
    "StoreUnavailable",
    "TaskCancelled",
    "TaskContext",
    "TaskFunction",
    "TaskGone",
    "TaskResult",
    "Unencodable",
    "WrongState",
    "acancel",
    "adelete",
    "aenqueue",
    "aenqueue_many",
    "aget",
    "arevive",
    "cancel",
    "delete",
    "enqueue",
    "enqueue_many",
    "get",
    "handler",
    "revive",
    "task",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, from where it is made."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
