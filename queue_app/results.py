"""A handle on an enqueued task: its id at once, and what became of it when asked."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

from asgiref.sync import sync_to_async

from queue_app import arguments
from queue_app.core.answers import Snapshot
from queue_app.core.errors import TaskGone
from queue_app.core.states import State
from queue_app.core.task import AttemptError, Task
from queue_app.runtime import get_broker

R = TypeVar("R")


class TaskResult(Generic[R]):
    """One task as it was when last looked at: at the enqueue, and at each `refresh`.

    A succeeded task leaves the store at once unless it asked for `keep_result`; then there is nothing to look at.
    """

    def __init__(self, task: Task, snapshot: Snapshot | None = None, *, is_detached: bool = False) -> None:
        self.task = task
        """The task as it was enqueued, or stored when last looked at."""
        self.created: bool | None = None
        """Whether this call put it into the store; False for a repeat, None while it waits for COMMIT or is unknown."""
        self.state: State | None = None
        """Where it is; None before COMMIT, and for a repeat that nobody has looked at."""
        self._snapshot = snapshot
        self._is_detached = is_detached
        if snapshot is not None:
            self._see(snapshot)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "TaskResult[Any]":
        """A handle on what a store answered. Raises UndecodableBody."""
        return cls(snapshot.task, snapshot)

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The task's id; right before COMMIT, too."""
        return self.task.id

    @property
    def queue(self) -> str:
        """The queue it is in."""
        return self.task.queue

    @property
    def task_type(self) -> str:
        """The stable name of what runs it."""
        return self.task.task_type

    @property
    def args(self) -> list[Any]:
        """The positional arguments. Raises InvalidArgument for a raw payload."""
        return arguments.decode(self.task.payload)[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments. Raises InvalidArgument for a raw payload."""
        return arguments.decode(self.task.payload)[1]

    @property
    def enqueued_at(self) -> datetime | None:
        """When it was enqueued, by the clock of who did; None for a task that others pushed."""
        return _time(self.task.enqueued_at)

    # --- what became of it ------------------------------------------------------------------------------------------

    @property
    def is_finished(self) -> bool:
        """Whether it succeeded, is dead or cancelled."""
        return self.state is not None and self.state.is_finished

    @property
    def finished_at(self) -> datetime | None:
        """When it ended, by the store's clock; None before."""
        return _time(self._snapshot.at) if self._snapshot is not None and self.is_finished else None

    @property
    def attempts(self) -> int:
        """How many attempts have ended and counted."""
        return self.task.attempts

    @property
    def errors(self) -> tuple[AttemptError, ...]:
        """What the last few attempts died of, newest last; only that one has a traceback."""
        return self.task.errors

    @property
    def return_value(self) -> R:
        """What the handler returned.

        Raises ValueError unless it succeeded, and Unencodable when the value could not be kept.
        """
        if self.state is not State.SUCCEEDED:
            raise ValueError(f"task {self.id} has not succeeded: its state is {self.state or 'unknown'}")
        value: R = self._value
        return value

    @cached_property
    def _value(self) -> Any:
        return arguments.decode_result(self._snapshot.result if self._snapshot is not None else None)

    # --- looking ----------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Ask the store. Raises TaskGone when it does not know the task, as after a success that kept no result."""
        if self._is_detached:
            return
        snapshot = get_broker().find(self.id)
        if snapshot is None:
            raise TaskGone(self.id)
        self._see(snapshot)

    async def arefresh(self) -> None:
        """The same for async code."""
        await sync_to_async(self.refresh, thread_sensitive=True)()

    def _see(self, snapshot: Snapshot) -> None:
        self.task, self.state, self._snapshot = snapshot.task, snapshot.state, snapshot
        self.__dict__.pop("_value", None)

    def __repr__(self) -> str:
        return f"<TaskResult id={self.id} type={self.task_type} queue={self.queue} state={self.state}>"


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
