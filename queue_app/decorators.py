"""How functions become tasks: @task for Python's own arguments, @handler for payload bytes."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, Unpack, overload

from queue_app import options
from queue_app.binding import Binding
from queue_app.core.errors import ForgeQueueError, InvalidArgument, InvalidName
from queue_app.core.names import valid_task_type
from queue_app.core.showing import shown
from queue_app.functions import TaskFunction
from queue_app.options import Defined
from queue_app.registry import Handler, handlers

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class InvalidTask(ForgeQueueError, TypeError):
    """This cannot be a task; the message says what to change."""


# --- @task ------------------------------------------------------------------------------------------------------------


class _Maker(Protocol):
    """`@task(…)`."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> TaskFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFunction[P, R]: ...


class _ContextMaker(Protocol):
    """`@task(takes_context=True, …)`."""

    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], /) -> TaskFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], R], /) -> TaskFunction[P, R]: ...


@overload
def task(function: Callable[P, Coroutine[Any, Any, R]], /) -> TaskFunction[P, R]: ...
@overload
def task(function: Callable[P, R], /) -> TaskFunction[P, R]: ...
@overload
def task(
    *,
    takes_context: Literal[True],
    name: str | None = None,
    description: str | None = None,
    **defined: Unpack[Defined],
) -> _ContextMaker: ...
@overload
def task(
    *,
    takes_context: Literal[False] = False,
    name: str | None = None,
    description: str | None = None,
    **defined: Unpack[Defined],
) -> _Maker: ...
def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    takes_context: bool = False,
    name: str | None = None,
    description: str | None = None,
    **defined: Any,
) -> Any:
    """Make a function at the top level of a module a task.

    `name` is the task type, `<module>.<function>` unless given: give one before moving a function whose tasks wait.
    With `takes_context` its first argument, named `context`, is a Context. `description` is the first line of its
    docstring unless given. The other options are those of `using`, see Choices; `backoff` may be a callable as well,
    which gets the attempt's number and its exception and answers seconds.

    Raises InvalidTask for what is no such function, TypeError for an unknown option, InvalidArgument and InvalidName
    for a value that cannot be, DuplicateHandler for a type that another function has.
    """
    chosen = options.define(defined)

    def make(function: Callable[..., Any]) -> TaskFunction[..., Any]:
        _check_function(function, takes_context)
        handler = Handler(
            task_type=_type_of(function, name),
            function=function,
            is_async=inspect.iscoroutinefunction(function),
            takes_context=takes_context,
            options=chosen,
            description=_described(function, description),
        )
        made: TaskFunction[..., Any] = TaskFunction(
            function, handler, Binding(function, takes_context=takes_context), chosen
        )
        handlers.add(handler)
        return made

    return make if function is None else make(function)


# --- @handler ---------------------------------------------------------------------------------------------------------


def handler(
    task_type: str, *, takes_context: bool = False, description: str | None = None, **defined: Unpack[Defined]
) -> Callable[[F], F]:
    """Let a callable run tasks of a type, with the payload's bytes as they are; it stays what it is.

    With `takes_context` it is called with a Context and the bytes. The options hold for `enqueue(task_type, …)`; a
    task that another system pushed brings its own. Raises what `task` does.
    """
    chosen = options.define(defined)
    if not isinstance(task_type, str):
        raise InvalidTask('@handler needs the task type it handles: @handler("send_email")')

    def register(function: F) -> F:
        wanted = ("context", "payload") if takes_context else ("payload",)
        _check_callable(function, wanted)
        call = function if inspect.isroutine(function) else type(function).__call__
        handlers.add(
            Handler(
                task_type=task_type,
                function=function,
                is_async=inspect.iscoroutinefunction(call),
                takes_context=takes_context,
                is_raw=True,
                options=chosen,
                description=_described(function, description),
            )
        )
        return function

    return register


# --- what can be one --------------------------------------------------------------------------------------------------


def _check_function(function: Any, takes_context: bool) -> None:
    if isinstance(function, str):
        raise InvalidTask(f"@task({function!r}) is not how a task is named; write @task(name={function!r})")
    if not inspect.isfunction(function):
        raise InvalidTask(f"@task is for functions, and {shown(function)} is none; wrap the call in a def")
    if function.__name__ == "<lambda>":
        raise InvalidTask("a lambda has no name that its tasks could carry; write a def")
    if "." in function.__qualname__:
        raise InvalidTask(
            f"{function.__qualname__} is not at the top level of its module, where a worker finds it; move it there"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidTask(f"{function.__name__} yields: called, it would not run; let it return a value")
    if takes_context and next(iter(inspect.signature(function).parameters), None) != "context":
        raise InvalidTask(f"{function.__name__} has takes_context=True: its first argument has to be named context")


def _check_callable(function: Any, wanted: tuple[str, ...]) -> None:
    if not callable(function) or inspect.isclass(function):
        raise InvalidTask(f"@handler is for functions, and {shown(function)} is none")
    try:
        inspect.signature(function).bind(*wanted)
    except TypeError as error:
        raise InvalidTask(f"{shown(function)} cannot be called with ({', '.join(wanted)}): {error}") from None


def _type_of(function: Callable[..., Any], name: str | None) -> str:
    if name is not None:
        return valid_task_type(name)
    if function.__module__ == "__main__":
        raise InvalidTask(f"{function.__name__} is in __main__, where no worker finds it; move it to a tasks.py")
    try:
        return valid_task_type(f"{function.__module__}.{function.__name__}")
    except InvalidName as error:
        raise InvalidName(f"{error}; give the task a name=") from None


def _described(function: Any, description: str | None) -> str:
    if description is None:
        return (inspect.getdoc(function) or "").partition("\n")[0]
    if not isinstance(description, str):
        raise InvalidArgument(f"description={shown(description)} is not text")
    return description
