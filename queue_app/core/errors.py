"""One tree of errors, each named for what happened."""


class ForgeQueueError(Exception):
    """The root of every error that ForgeQueue raises on purpose."""


class TaskRefused(ForgeQueueError):
    """The store looked, said no, and changed nothing."""

    def __init__(self, task_id: str, detail: str = "") -> None:
        self.task_id = task_id
        super().__init__(f"{self.__doc__} task={task_id}{f' {detail}' if detail else ''}")


class TaskGone(TaskRefused):
    """The store does not know this task: it never did, or it has left."""


class LeaseLost(TaskRefused):
    """The task has been reclaimed or claimed again since; this token no longer owns it."""


class DuplicateTask(TaskRefused):
    """The store already knows a task of this id."""


class IdempotencyConflict(TaskRefused):
    """The idempotency key was used before with another task type or other arguments."""


class WrongState(TaskRefused):
    """The task is in a state from which this cannot be done."""

    def __init__(self, task_id: str, state: str) -> None:
        self.state = state
        super().__init__(task_id, f"state={state}")


class UndecodableBody(ForgeQueueError):
    """The bytes at task:<id> are not a task that this version can read."""


class NewerSchema(UndecodableBody):
    """The body was written by a newer version; upgrade this worker before it can run the task."""


class InvalidName(ForgeQueueError, ValueError):
    """A queue, task type, id or key has characters or a length that no door accepts."""


class InvalidArgument(ForgeQueueError, ValueError):
    """An argument of a task, or an option of an enqueue, cannot be carried; the message names it."""


class PayloadTooLarge(InvalidArgument):
    """The encoded arguments exceed the limit; the message gives both sizes."""


class UnknownTaskType(ForgeQueueError, LookupError):
    """No handler of this process runs tasks of this type."""


class HolderClosed(ForgeQueueError):
    """This slot was declared dead and its name closed for good; it can claim nothing."""


class StoreUnavailable(ForgeQueueError):
    """The store did not answer; what was asked may or may not have happened."""


class EnqueueUnknown(StoreUnavailable):
    """The store went away during an enqueue, and so did the repeat of it: the task may exist."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(f"{self.__doc__} task={task_id}")


class StoreRefused(ForgeQueueError):
    """The store answered with an error: full, read-only, a key of a foreign type; the message names it."""


class ConfigurationError(ForgeQueueError):
    """A setting is missing or wrong; the message names it and says what to write instead."""
