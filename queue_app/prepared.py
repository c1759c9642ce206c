"""A task that is ready to be enqueued: its id is chosen, its arguments are bytes, everything has been checked."""

import time

import msgspec

from queue_app.brokers.base import Broker
from queue_app.conf import Settings
from queue_app.core import ids
from queue_app.core.answers import Enqueue
from queue_app.core.task import Task, to_max_retries
from queue_app.options import Options

GENERATION_HEADER = "forgequeue-key-generation"
"""Tells the store which generation of its idempotency key an id was derived from."""


class PreparedTask(msgspec.Struct, frozen=True):
    """What `task.prepare(…)` gives and `enqueue_many` takes. Sent twice it is one task: the id is the same."""

    entry: Enqueue
    on_commit: bool | None = None
    using: str | None = None

    @property
    def task(self) -> Task:
        """The task as it will be stored."""
        return self.entry.task

    @property
    def id(self) -> str:
        """The id it will have."""
        return self.entry.task.id


def prepare(
    task_type: str, payload: bytes, options: Options, settings: Settings, broker: Broker | None
) -> PreparedTask:
    """Choose the id and put the stored form together.

    With an idempotency key the id follows from the key and its generation, which `broker` is asked for: then this may
    raise StoreUnavailable. Without a broker (nothing is stored) it is the first.
    """
    queue = options.queue or settings.default_queue
    key, headers = options.idempotency_key, {}
    if key is None:
        task_id = ids.new_id()
    else:
        generation = broker.key_generation(queue, key) if broker is not None else 0
        task_id = ids.keyed_id(queue, key, generation)
        headers = {GENERATION_HEADER: str(generation)} if generation else {}
    now = time.time()
    task = Task(
        id=task_id,
        task_type=task_type,
        payload=payload,
        max_retries=to_max_retries(settings.max_attempts) if options.max_retries is None else options.max_retries,
        queue=queue,
        priority=options.priority,
        enqueued_at=now,
        due_at=options.due_at,
        expires_at=options.expires_at if options.expires_in is None else now + options.expires_in,
        timeout=options.timeout,
        hard_timeout=options.hard_timeout,
        backoff=options.backoff or settings.backoff,
        keep_result=options.keep_result,
        tags=options.tags,
        headers=headers,
        idempotency_key=key,
    )
    entry = Enqueue(task=task, delay_seconds=options.delay, due_at=options.due_at)
    return PreparedTask(entry, options.on_commit, options.using)
