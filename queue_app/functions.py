"""What @task makes of a function."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from asgiref.sync import async_to_sync, sync_to_async

from queue_app import arguments, client, options
from queue_app.binding import Binding
from queue_app.conf import get_settings
from queue_app.context import Context
from queue_app.core.errors import InvalidArgument
from queue_app.core.ids import new_id
from queue_app.core.task import Task
from queue_app.delivery import deliver, prepare_here
from queue_app.options import Choices, Options
from queue_app.prepared import PreparedTask
from queue_app.registry import Handler
from queue_app.results import TaskResult

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class TaskFunction(Generic[P, R]):
    """A function and how it is enqueued. Nothing of it changes: `using` gives a copy.

    Called directly it just runs the function. Equal copies of it in two processes are the same: it can be pickled.
    """

    func: Callable[..., Any]
    handler: Handler
    binding: Binding = field(compare=False)
    options: Options
    """What an enqueue says of the task."""

    def __post_init__(self) -> None:
        # What functools.wraps would do, which a frozen object refuses.
        names = ("__module__", "__name__", "__qualname__", "__doc__")
        vars(self).update({name: getattr(self.func, name) for name in names}, __wrapped__=self.func)

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def task_type(self) -> str:
        """The stable name that its tasks carry."""
        return self.handler.task_type

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.func.__name__)

    @property
    def module_path(self) -> str:
        """Where the function is, for importing."""
        return ".".join(self.handler.origin)

    @property
    def description(self) -> str:
        """What it does, in a line."""
        return self.handler.description

    @property
    def takes_context(self) -> bool:
        """Whether the worker passes a Context first."""
        return self.handler.takes_context

    @property
    def queue_name(self) -> str:
        """The queue that an enqueue goes to."""
        return self.options.queue or get_settings().default_queue

    @property
    def priority(self) -> int:
        """The priority that an enqueue has."""
        return self.options.priority

    # --- enqueue ----------------------------------------------------------------------------------------------------

    def using(self, **choices: Unpack[Choices]) -> "TaskFunction[P, R]":
        """A copy that is enqueued otherwise. Raises TypeError for an unknown option, InvalidArgument for a value."""
        return replace(self, options=options.choose(self.options, choices))

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> TaskResult[R]:
        """Enqueue one task with these arguments; the handle has its id at once.

        Inside a transaction the store gets the task after COMMIT, and never after a rollback; the arguments are encoded
        now. Should the store be out of reach after COMMIT, that is logged and signalled (`enqueue_failed`), not raised.

        Raises, with nothing enqueued: TypeError when the arguments do not fit the function, InvalidArgument and
        PayloadTooLarge when they cannot be carried, IdempotencyConflict when the key was used with other arguments.
        Outside a transaction: EnqueueUnknown when the store went away (the task may exist), StoreRefused when it said
        no. With an idempotency key the store is asked for the id also inside a transaction: StoreUnavailable.
        """
        return deliver((self.prepare(*args, **kwargs),))[0]

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> TaskResult[R]:
        """The same for async code, on the thread that has the transactions of async code."""
        return await sync_to_async(partial(self.enqueue, *args, **kwargs), thread_sensitive=True)()

    def prepare(self, /, *args: P.args, **kwargs: P.kwargs) -> PreparedTask:
        """A task for `enqueue_many`: sent more than once it is still one task. Raises what `enqueue` does at once."""
        self.binding.check(args, kwargs)
        named: dict[str, Any] = kwargs
        if self.options.idempotency_key is not None:
            # The key compares bytes, and the order of names means nothing.
            named = dict(sorted(kwargs.items()))
        payload = arguments.encode(args, named, get_settings().max_payload_bytes)
        return prepare_here(self.handler.task_type, payload, self.options)

    # --- look -------------------------------------------------------------------------------------------------------

    def get_result(self, task_id: str) -> TaskResult[R]:
        """A handle on a task of this type. Raises TaskGone, and InvalidArgument when it is of another type."""
        result = client.get(task_id)
        if result.task_type != self.task_type:
            raise InvalidArgument(f"task {result.id} is of the type {result.task_type}, not {self.task_type}")
        return result

    async def aget_result(self, task_id: str) -> TaskResult[R]:
        """The same for async code."""
        return await sync_to_async(self.get_result, thread_sensitive=True)(task_id)

    # --- run here ---------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Just the function: no queue, and a coroutine when it is async."""
        return self.func(*args, **kwargs)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it here and now, also when it is async. One that takes a context gets a new one unless you pass yours."""
        function = async_to_sync(self.func) if self.handler.is_async else self.func
        value: R = function(*self._with_context(args), **kwargs)
        return value

    async def acall(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same for async code."""
        call = partial(self.func, *self._with_context(args), **kwargs)
        value: R = await (call() if self.handler.is_async else sync_to_async(call, thread_sensitive=True)())
        return value

    def _with_context(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self.takes_context or (args and isinstance(args[0], Context)):
            return args
        return (Context(Task(id=new_id(), task_type=self.task_type, queue=self.queue_name)), *args)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str, Options]]:
        return _restored, (*self.handler.origin, self.options)

    def __repr__(self) -> str:
        return f"<TaskFunction {self.task_type}>"


def _restored(module: str, name: str, chosen: Options) -> TaskFunction[Any, Any]:
    known: TaskFunction[Any, Any] = getattr(importlib.import_module(module), name)
    return known if known.options == chosen else replace(known, options=chosen)
