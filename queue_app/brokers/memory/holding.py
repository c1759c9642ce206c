"""What the slots of workers hold."""

from dataclasses import dataclass

from queue_app.brokers.base import HOLDER_CLOSED_SECONDS, MAX_CLAIM_BYTES
from queue_app.brokers.memory.queue import Queue
from queue_app.brokers.memory.stored import Stored
from queue_app.core.answers import Standing
from queue_app.core.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a holder claimed last. The tasks' own tokens say how much of it the holder still owns."""

    token: str
    task_ids: tuple[str, ...]
    claimed_at: float


class Holders:
    """The holders of one queue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._batches: dict[str, Batch] = {}
        self._closed_until: dict[str, float] = {}

    def claim(
        self, holder: str, token: str, want: int, lease_seconds: float, now: float, *, is_paused: bool
    ) -> tuple[Standing, list[Stored]]:
        """Up to `want` tasks under `token`; what it got before when this holder presented this token last."""
        if self._closed_until.get(holder, now) > now:
            return Standing.CLOSED, []
        batch = self._batches.get(holder)
        if batch is not None and batch.token == token:
            return _standing(owned := self._owned(batch)), owned
        if is_paused:
            self._queue.take_marker()
            return Standing.PAUSED, []
        taken = self._first_in_line(want)
        if taken:
            self._batches[holder] = Batch(token=token, task_ids=tuple(task.id for task in taken), claimed_at=now)
            self._grant(token, taken, now + lease_seconds)
        return _standing(taken), taken

    def held(self, holder: str) -> tuple[str, list[Stored]]:
        """The token of its batch, and what of it this holder still owns."""
        batch = self._batches.get(holder)
        return (batch.token, self._owned(batch)) if batch else ("", [])

    def close(self, holder: str, now: float) -> None:
        """It will never claim again, until nobody remembers its name."""
        self._batches.pop(holder, None)
        self._closed_until[holder] = now + HOLDER_CLOSED_SECONDS

    def forget(self, now: float) -> None:
        """Drop names that were closed long ago, and batches of which nothing is left and no call can be under way."""
        self._closed_until = {holder: until for holder, until in self._closed_until.items() if until > now}
        old = now - HOLDER_CLOSED_SECONDS
        self._batches = {
            holder: batch for holder, batch in self._batches.items() if batch.claimed_at >= old or self._owned(batch)
        }

    def _owned(self, batch: Batch) -> list[Stored]:
        owned = (self._queue.owned(task_id, batch.token) for task_id in batch.task_ids)
        return [task for task in owned if task is not None]

    def _first_in_line(self, want: int) -> list[Stored]:
        """At least one, however large; then as many as are wanted and fit."""
        taken: list[Stored] = []
        room = MAX_CLAIM_BYTES
        for task_id in self._queue.line:
            task = self._queue.tasks[task_id]
            room -= len(task.body)
            if len(taken) == want or (taken and room < 0):
                break
            taken.append(task)
        return taken

    def _grant(self, token: str, tasks: list[Stored], expires_at: float) -> None:
        for task in tasks:
            self._queue.move(task, State.RUNNING, expires_at)
            task.token, task.settled_by = token, None
        if self._queue.line:
            self._queue.ring()


def _standing(claimed: list[Stored]) -> Standing:
    return Standing.CLAIMED if claimed else Standing.EMPTY
