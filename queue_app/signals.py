"""What a host can listen to. All are sent by `send_robust`: a receiver that fails is logged and stops nothing.

`sender` is always the class `queue_app.core.task.Task`. Sending costs nothing while nobody listens.
"""

from django.dispatch import Signal

task_enqueued = Signal()
"""The store has a new task: after COMMIT where the enqueue waited for it, and not for repeats. `task`."""

enqueue_failed = Signal()
"""A task did not reach the store after COMMIT, where nothing can be raised any more. `task`, `error`."""

task_started = Signal()
"""An attempt begins, on the thread that runs it. `task` (its `attempt` is the number), `worker`."""

task_finished = Signal()
"""An attempt ended and counted: succeeded, will be retried, or is dead. `task`, `state`, `seconds`, `worker`."""

task_failed = Signal()
"""The attempt failed: sent before task_finished. `task`, `error` (the exception), `state`, `worker`."""
