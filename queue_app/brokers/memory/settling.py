"""What an outcome leads to."""

from collections.abc import Sequence

from queue_app.brokers.memory.queue import Queue
from queue_app.brokers.memory.stored import Stored
from queue_app.core.answers import Settled
from queue_app.core.lease import Lease
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Released, Snoozed, Spent, Succeeded
from queue_app.core.states import State


class Settlement:
    """The outcomes of one step in one queue. `put_back` ends it."""

    def __init__(self, queue: Queue, now: float) -> None:
        self._queue = queue
        self._now = now
        self._released: list[Stored] = []

    def settle_all(self, outcomes: Sequence[Outcome]) -> dict[str, Settled]:
        """Settle them in order. Names those that are not plainly done; of an id that comes twice, the later."""
        words = [(outcome.lease.task_id, self.settle(outcome)) for outcome in outcomes]
        return {task_id: word for task_id, word in words if word is not Settled.DONE}

    def settle(self, outcome: Outcome) -> Settled:
        """Settle one, if its token owns the task; else nothing changes."""
        task = self._queue.owned(outcome.lease.task_id, outcome.lease.token)
        if task is None:
            return self._refusal(outcome.lease)
        task.settled_by = outcome.lease.token
        return self.apply(task, outcome)

    def apply(self, task: Stored, outcome: Outcome) -> Settled:
        """What the outcome says, or cancelled when that was asked for. Success alone comes before such a wish."""
        mark, task.token, task.mark = task.mark, None, ""
        match outcome:
            case Succeeded():
                self._succeed(task, outcome, is_unwanted=mark == "delete")
            case Cancelled():
                self._cancel(task, outcome.body, outcome.note, mark)
            case _ if mark:
                self._cancel(task, getattr(outcome, "body", b""), outcome.note, mark)
                return Settled.CANCELLED
            case Failed(body=body, delay_seconds=seconds):
                self._wait(task, State.RETRYING, "retried", seconds, body)
            case Snoozed(delay_seconds=seconds):
                self._wait(task, State.SCHEDULED, "snoozed", seconds)
            case Spent(body=body, note=note):
                self._end(task, State.DEAD, self._queue.retention.dead_seconds, body, note)
            case Released():
                self._released.append(task)
            case _:
                raise TypeError(f"{type(outcome).__name__} is no outcome")
        return Settled.DONE

    def put_back(self) -> None:
        """Released ones go back together, the first of them first in line."""
        for task in reversed(self._released):
            self._queue.move(task, State.READY, at_head=True)
        self._queue.events.count("released", self._now, len(self._released))
        self._released = []

    def _refusal(self, lease: Lease) -> Settled:
        task = self._queue.find(lease.task_id, self._now)
        if task is not None and task.settled_by == lease.token:
            return Settled.REPEATED
        return Settled.LOST if self._queue.knows(lease.task_id, self._now) else Settled.GONE

    def _succeed(self, task: Stored, outcome: Succeeded, *, is_unwanted: bool) -> None:
        self._end(task, State.SUCCEEDED, outcome.keep_seconds, outcome.body, outcome.note)
        task.result = outcome.result or None
        if outcome.keep_seconds <= 0.0 or is_unwanted:
            self._queue.drop(task)

    def _cancel(self, task: Stored, body: bytes, note: bytes, mark: str) -> None:
        self._end(task, State.CANCELLED, self._queue.retention.cancelled_seconds, body, note)
        if mark == "delete":
            self._queue.drop(task)
            self._queue.events.count("deleted", self._now)

    def _wait(self, task: Stored, state: State, event: str, seconds: float, body: bytes = b"") -> None:
        task.body = body or task.body
        self._queue.move(task, state, self._now + seconds)
        self._queue.events.count(event, self._now)

    def _end(self, task: Stored, state: State, keep_seconds: float | None, body: bytes, note: bytes) -> None:
        task.body = body or task.body
        self._queue.finish(task, state, keep_seconds, self._now)
        self._queue.events.count(state.value, self._now)
        self._queue.recent.remember(state, note, self._now)
