"""What the worker needs of the layer that knows handlers. `queue_app.registry` fills it; so can a test."""

from collections.abc import Callable
from typing import Any, Protocol

from queue_app.core.backoff import BackoffCallable
from queue_app.core.task import Task


class Handler(Protocol):
    """The Python callable that runs a type."""

    @property
    def is_async(self) -> bool:
        """Whether `call` answers an awaitable."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether `call` runs it to its end and needs no context."""
        ...

    @property
    def backoff_callable(self) -> BackoffCallable | None:
        """The rule that the task's stored one gives way to."""
        ...

    def call(self, task: Task, context: Any = None) -> Any:
        """Decode the payload and run."""
        ...

    def encode_result(self, value: Any) -> bytes:
        """The bytes to keep of what `call` returned. What it raises is a failure of the task."""
        ...


Find = Callable[[str], Handler]
"""The handler of a type. Raises UnknownTaskType."""
