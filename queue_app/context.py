"""What a handler that asks for it is told about its attempt."""

import logging
import threading
from collections.abc import MutableMapping
from typing import Any

from queue_app.core.errors import ForgeQueueError
from queue_app.core.steering import Reject, Retry, Snooze
from queue_app.core.task import Task

__all__ = ["Context", "Reject", "Retry", "Snooze", "SoftTimeLimit", "TaskCancelled", "TaskContext"]

TIMEOUT = "timeout"

_logger = logging.getLogger("forgequeue.task")


class TaskCancelled(ForgeQueueError):
    """The attempt was told to end: somebody cancelled the task, its lease is lost, or the worker stops."""


class SoftTimeLimit(ForgeQueueError):
    """The attempt ran for longer than the task's `timeout`. A handler may catch it to tidy up; what it raises, this or
    another, is a failure that counts and is retried as any other."""

    def __init__(self, message: str = "the attempt ran for longer than its timeout") -> None:
        super().__init__(message)


class Context:
    """One attempt, as its handler sees it. The worker makes one per attempt; other threads may cancel it."""

    __slots__ = ("_stop", "cancel_reason", "task", "worker")

    def __init__(self, task: Task, worker: str = "") -> None:
        self.task = task
        """The task as it is stored."""
        self.worker = worker
        """The name of the worker that runs it."""
        self.cancel_reason = ""
        """Why it should end, once it should: "cancelled", "lost" (the lease), "shutdown" or "timeout"."""
        self._stop = threading.Event()

    # --- what runs ----------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The task's id: the same in every attempt."""
        return self.task.id

    @property
    def task_type(self) -> str:
        """The stable name that the task carries."""
        return self.task.task_type

    @property
    def queue(self) -> str:
        """The queue it was claimed from."""
        return self.task.queue

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.task.attempt

    @property
    def max_attempts(self) -> int | None:
        """How many attempts the task has in all; None for no limit."""
        return self.task.max_attempts

    @property
    def is_last_attempt(self) -> bool:
        """Whether a failure now makes the task dead."""
        return self.task.is_last_attempt

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """The logger `forgequeue.task`; every line says which task and attempt it is about."""
        return _TaskLogger(_logger, {"task": self.task})

    # --- being told to stop ---------------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """Whether the handler should end: what it does from now on may be done again, or is not wanted any more."""
        return self._stop.is_set()

    def raise_if_cancelled(self) -> None:
        """Raises TaskCancelled when the handler should end, SoftTimeLimit when that is since its time is up. Call it
        wherever the handler can be left."""
        if self._stop.is_set():
            raise SoftTimeLimit if self.cancel_reason == TIMEOUT else TaskCancelled(self.cancel_reason)

    def heartbeat(self) -> None:
        """Say "still at work" between two steps. Raises as `raise_if_cancelled` when there should be no next step.

        The lease needs no help: the worker renews it, also while a handler is silent.
        """
        self.raise_if_cancelled()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not on when the handler should end; whether it should. For `def` handlers: it blocks."""
        return self._stop.wait(seconds)

    def cancel(self, reason: str = "cancelled") -> None:
        """Tell the handler to end; the worker does, and a test may. Only the first reason counts."""
        if not self._stop.is_set():
            self.cancel_reason = reason
            self._stop.set()

    def __repr__(self) -> str:
        return f"<Context task={self.id} type={self.task_type} attempt={self.attempt}>"


TaskContext = Context
"""The name that django.tasks has for it, so that moving over is one import."""


class _TaskLogger(logging.LoggerAdapter[logging.Logger]):
    """Ends each line with the facts by which it is found."""

    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        """The message, then task, type, queue and attempt."""
        task: Task = (self.extra or {})["task"]  # type: ignore[assignment]
        facts = f"task={task.id} type={task.task_type} queue={task.queue} attempt={task.attempt}"
        # The line is a format; a foreign producer may have put anything into a type.
        return f"{msg} {facts.replace('%', '?')}", kwargs
