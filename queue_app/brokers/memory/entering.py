"""How a task comes in, and the idempotency keys that let it in once."""

from dataclasses import dataclass

from queue_app.brokers.memory import rules
from queue_app.brokers.memory.queue import Queue
from queue_app.brokers.memory.stored import Stored
from queue_app.core.answers import Enqueue, Receipt
from queue_app.core.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """Which task a key named, whatever became of it."""

    task_id: str
    generation: int
    fingerprint: tuple[str, bytes]
    until: float


class Entrance:
    """The way into one queue."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._keys: dict[str, KeyRecord] = {}

    def enqueue(self, entry: Enqueue, body: bytes, now: float) -> Receipt:
        """Store the task, unless its key is remembered or its id is known."""
        task = entry.task
        record = self._keys.get(task.idempotency_key or "")
        if record is not None and record.until > now:
            return Receipt(record.task_id, False, record.fingerprint != rules.fingerprint(task))
        if self._queue.knows(task.id, now):
            return Receipt(task.id, False)
        self._store(entry, body, now)
        if task.idempotency_key is not None:
            self._remember_key(task.idempotency_key, entry, now)
        return Receipt(task.id, True)

    def key_generation(self, key: str, now: float) -> int:
        """A forgotten key whose task is still known needs another id: one more generation."""
        record = self._keys.get(key)
        if record is None:
            return 0
        if record.until > now:
            return record.generation
        return record.generation + 1 if self._queue.knows(record.task_id, now) else 0

    def forget_keys(self, now: float) -> None:
        """Drop the keys that are past their time and whose task is no longer known."""
        self._keys = {
            key: record
            for key, record in self._keys.items()
            if record.until > now or self._queue.knows(record.task_id, now)
        }

    def _store(self, entry: Enqueue, body: bytes, now: float) -> None:
        task, due_at = entry.task, rules.due_time(entry, now)
        if task.id in self._queue.tasks:
            # Past retention, and no sweeper has come by yet.
            self._queue.drop(self._queue.tasks[task.id])
        is_later = due_at > now
        self._queue.put(
            Stored(
                id=task.id,
                queue=self._queue.name,
                body=body,
                priority=task.priority,
                state=State.SCHEDULED if is_later else State.READY,
                at=due_at if is_later else None,
            )
        )
        self._queue.events.count("enqueued", now)

    def _remember_key(self, key: str, entry: Enqueue, now: float) -> None:
        self._keys[key] = KeyRecord(
            task_id=entry.task.id,
            generation=rules.generation_of(entry.task),
            fingerprint=rules.fingerprint(entry.task),
            until=now + self._queue.retention.idempotency_seconds,
        )
