"""How prepared tasks reach the store: at once, or after COMMIT; or run in place, or are caught by a test.

An enqueue whose answer was lost is sent once more, with the same id: the store knows it or stores it. When that fails
too, the caller is told EnqueueUnknown. After COMMIT there is no caller left who could be told: then it is logged,
counted and signalled, and the other things that waited for the same COMMIT go on.
"""

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from django.db import DEFAULT_DB_ALIAS, transaction

from queue_app import eager, signals
from queue_app.brokers.base import Broker
from queue_app.conf import Settings, get_settings
from queue_app.core.answers import Enqueue, Receipt
from queue_app.core.errors import EnqueueUnknown, ForgeQueueError, IdempotencyConflict, StoreUnavailable
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.options import Options
from queue_app.prepared import PreparedTask, prepare
from queue_app.results import TaskResult
from queue_app.runtime import get_broker

logger = logging.getLogger("forgequeue.client")

Catch = Callable[[PreparedTask], None]

_catches: list[Catch] = []


class _Sent(msgspec.Struct):
    """A task on its way, and the handle that its caller already has."""

    prepared: PreparedTask
    result: TaskResult[Any]

    @property
    def task(self) -> Task:
        return self.prepared.entry.task


class _Refused(msgspec.Struct):
    """A task that is not in the store, and why."""

    task: Task
    error: ForgeQueueError


def prepare_here(task_type: str, payload: bytes, options: Options) -> PreparedTask:
    """`prepare` with this process's settings and store."""
    settings = get_settings()
    needs_store = options.idempotency_key is not None and not settings.eager and not _catches
    return prepare(task_type, payload, options, settings, get_broker() if needs_store else None)


def deliver(tasks: Sequence[PreparedTask]) -> list[TaskResult[Any]]:
    """Enqueue; one handle per task, in order.

    Raises EnqueueUnknown, StoreUnavailable, StoreRefused and IdempotencyConflict for what does not wait for COMMIT.
    """
    settings = get_settings()
    if _catches:
        return [_caught(prepared) for prepared in tasks]
    if settings.eager:
        return [_run(prepared) for prepared in tasks]
    sent = [_Sent(prepared, TaskResult(prepared.entry.task)) for prepared in tasks]
    by_alias: dict[str | None, list[_Sent]] = {}
    for each in sent:
        by_alias.setdefault(_open_transaction(each.prepared, settings), []).append(each)
    at_once = by_alias.pop(None, None)
    for alias, group in by_alias.items():
        transaction.on_commit(_hook(group), using=alias, robust=True)
    if at_once is not None:
        _at_once(at_once)
    return [each.result for each in sent]


def enqueue_failures() -> int:
    """How many tasks this process could not hand to the store after COMMIT."""
    return _lost.count


@contextmanager
def catching(catch: Catch) -> Iterator[None]:
    """For tests: every enqueue of this process goes to `catch` instead, at once, until the block ends."""
    _catches.append(catch)
    try:
        yield
    finally:
        _catches.remove(catch)


# --- where it goes ----------------------------------------------------------------------------------------------------


def _open_transaction(prepared: PreparedTask, settings: Settings) -> str | None:
    """The alias whose COMMIT it waits for; None when it goes at once."""
    if not (settings.enqueue_on_commit if prepared.on_commit is None else prepared.on_commit):
        return None
    alias = prepared.using or DEFAULT_DB_ALIAS
    return alias if transaction.get_connection(alias).in_atomic_block else None


def _caught(prepared: PreparedTask) -> TaskResult[Any]:
    result: TaskResult[Any] = TaskResult(prepared.task, is_detached=True)
    result.created, result.state = True, _first_state(prepared.entry)
    _catches[-1](prepared)
    return result


def _run(prepared: PreparedTask) -> TaskResult[Any]:
    result: TaskResult[Any] = TaskResult(prepared.task, eager.run(prepared.task), is_detached=True)
    result.created = True
    return result


def _at_once(sent: Sequence[_Sent]) -> None:
    for refused in _store(sent):
        raise refused.error


def _hook(sent: Sequence[_Sent]) -> Callable[[], None]:
    # A function, not a partial: Django looks at the __qualname__ of a robust hook that fails.
    def hand_over() -> None:
        _after_commit(sent)

    return hand_over


def _after_commit(sent: Sequence[_Sent]) -> None:
    try:
        failed = _store(sent)
    except ForgeQueueError as error:
        failed = [_Refused(each.task, error) for each in sent]
    for each in failed:
        _tell_lost(each.task, each.error)


# --- the store --------------------------------------------------------------------------------------------------------


def _store(sent: Sequence[_Sent]) -> list[_Refused]:
    """Hand them over; those that the store refused, and why."""
    receipts = _receipts(get_broker(), [each.prepared.entry for each in sent])
    refused: list[_Refused] = []
    for each, receipt in zip(sent, receipts, strict=True):
        if receipt.conflict:
            conflict = IdempotencyConflict(receipt.task_id, f"key={each.task.idempotency_key}")
            refused.append(_Refused(each.task, conflict))
        else:
            _note(each, receipt)
    return refused


def _receipts(broker: Broker, entries: Sequence[Enqueue]) -> list[Receipt]:
    try:
        return broker.enqueue_many(entries)
    except StoreUnavailable:
        try:
            receipts = broker.enqueue_many(entries)
        except StoreUnavailable as error:
            raise EnqueueUnknown(entries[0].task.id) from error
    # What the store knows already is the first copy, of which we were not told.
    return [
        msgspec.structs.replace(receipt, created=receipt.created or entry.task.idempotency_key is None)
        for entry, receipt in zip(entries, receipts, strict=True)
    ]


def _note(sent: _Sent, receipt: Receipt) -> None:
    result = sent.result
    result.created = receipt.created
    if receipt.created:
        result.state = _first_state(sent.prepared.entry)
        if signals.task_enqueued.receivers:
            signals.task_enqueued.send_robust(Task, task=sent.task)
    elif receipt.task_id != sent.task.id:
        result.task = msgspec.structs.replace(sent.task, id=receipt.task_id)


def _first_state(entry: Enqueue) -> State:
    is_later = entry.delay_seconds > 0 if entry.due_at is None else entry.due_at > time.time()
    return State.SCHEDULED if is_later else State.READY


# --- what was lost ----------------------------------------------------------------------------------------------------


class _Lost:
    """Counts, from whichever thread."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.count = 0

    def add(self) -> None:
        # next() of a count is one step for all threads.
        self.count = next(self._numbers)


_lost = _Lost()


def _tell_lost(task: Task, error: ForgeQueueError) -> None:
    _lost.add()
    logger.error(
        "task not enqueued after COMMIT task=%s type=%s queue=%s error=%s: %s",
        task.id,
        task.task_type,
        task.queue,
        type(error).__name__,
        error,
    )
    if signals.enqueue_failed.receivers:
        signals.enqueue_failed.send_robust(Task, task=task, error=error)
