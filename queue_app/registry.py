"""Task types and their handlers: one registry per process, filled by @task and @handler as modules are imported."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from queue_app import arguments
from queue_app.conf import get_settings
from queue_app.core.backoff import BackoffCallable
from queue_app.core.errors import ForgeQueueError, UnknownTaskType
from queue_app.core.names import valid_task_type
from queue_app.core.showing import shown
from queue_app.core.task import Task
from queue_app.options import NO_OPTIONS, Options


class DuplicateHandler(ForgeQueueError):
    """Two functions want to handle one task type; the message names both places."""


class HandlerNotRun(ForgeQueueError, TypeError):
    """The handler has only been made ready: what it returned would have to be awaited, or iterated over."""


_YET_TO_RUN = frozenset({CoroutineType, GeneratorType, AsyncGeneratorType})


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """The Python callable that runs tasks of a type, and how it wants to be called."""

    task_type: str
    function: Callable[..., Any]
    is_async: bool = False
    takes_context: bool = False
    is_raw: bool = False
    """Whether it is given the payload's bytes instead of arguments."""
    options: Options = NO_OPTIONS
    """What an enqueue of this type says unless it is told otherwise."""
    description: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is an ordinary function that is told nothing of its attempt."""
        return not self.takes_context and not self.is_async

    @property
    def backoff_callable(self) -> BackoffCallable | None:
        """The rule that the task's stored one gives way to, where this handler is loaded."""
        return self.options.backoff_callable

    @property
    def origin(self) -> tuple[str, str]:
        """Module and qualified name: another function of these is the same one, imported anew."""
        function = self.function
        return function.__module__, getattr(function, "__qualname__", type(function).__qualname__)

    @property
    def place(self) -> str:
        """Where it is defined, for people."""
        code = getattr(self.function, "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        return f"{'.'.join(self.origin)}{where}"

    def call(self, task: Task, context: Any = None) -> Any:
        """Run it with what the task carries; a coroutine when it is async.

        Raises what it does, InvalidArgument for a payload that it cannot take, and HandlerNotRun.
        """
        if self.is_raw:
            args: Sequence[Any] = (task.payload or b"",)
            kwargs: dict[str, Any] = {}
        else:
            args, kwargs = arguments.decode(task.payload)
        value = self.function(context, *args, **kwargs) if self.takes_context else self.function(*args, **kwargs)
        if type(value) in _YET_TO_RUN and not self.is_async:
            # A decorator hid from @task what the function is: nothing of it has run, and to ack that would lose it.
            raise _not_run(self, value)
        return value

    def encode_result(self, value: Any) -> bytes:
        """The bytes to keep of what `call` returned. Never raises: what cannot be kept is replaced by the reason."""
        return arguments.encode_result(value, get_settings().max_payload_bytes)


def _not_run(handler: Handler, value: Any) -> HandlerNotRun:
    what = type(value).__name__
    if not isinstance(value, AsyncGeneratorType):
        # Or Python warns of it, long after and without its name.
        value.close()
    return HandlerNotRun(
        f"{handler.place} returned a {what}, so nothing of it has run; a decorator around an async def has to be an "
        "async def itself, and a handler may not yield"
    )


class Registry:
    """The handlers of this process by task type."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def add(self, handler: Handler) -> None:
        """Take it in; in place of the same function when its module is imported anew.

        Raises InvalidName for the type, DuplicateHandler when another function already handles it.
        """
        known = self._handlers.get(valid_task_type(handler.task_type))
        if known is not None and known.origin != handler.origin:
            raise DuplicateHandler(
                f"two functions handle the task type {handler.task_type!r}: {known.place} and {handler.place}; "
                "give one of them another name="
            )
        self._handlers[handler.task_type] = handler

    def find(self, task_type: str) -> Handler:
        """The handler of a type. Raises UnknownTaskType."""
        try:
            return self._handlers[task_type]
        except KeyError:
            raise UnknownTaskType(
                f"no handler here runs the task type {shown(task_type, 200)}: its module is not loaded, or it was "
                "enqueued by another project that uses the same store without a PREFIX of its own"
            ) from None

    def get(self, task_type: str) -> Handler | None:
        """The handler of a type, or None."""
        return self._handlers.get(task_type)

    def types(self) -> list[str]:
        """Every type that has a handler, sorted."""
        return sorted(self._handlers)


handlers = Registry()
"""The one of this process."""
