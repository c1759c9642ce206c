"""One attempt: from what was claimed to the outcome that the store is told."""

import logging
import os
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from queue_app.context import Context
from queue_app.core import codec, policy
from queue_app.core.backoff import bounded_delay
from queue_app.core.errors import NewerSchema, UndecodableBody
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Failed, Outcome, Released, Snoozed, Spent
from queue_app.core.states import State
from queue_app.core.steering import Reject, Retry, Snooze
from queue_app.core.task import AttemptError, Task
from queue_app.signals import task_failed, task_finished, task_started
from queue_app.worker import hygiene
from queue_app.worker.batch import CANCELLED, LOST, SHUTDOWN, Batch
from queue_app.worker.forks import end_if_forked
from queue_app.worker.handling import Find, Handler
from queue_app.worker.lane import Lane
from queue_app.worker.limit import SoftLimit
from queue_app.worker.outlook import Outlook
from queue_app.worker.slot import Slot, Stopper, say_dropped

EXPIRED = "expired"
ERROR_IN_LOG_LIMIT = 300
SUCCEEDED = "succeeded"
_OWN_MODULES = ("queue_app.", "asgiref.", "concurrent.futures.", "asyncio.")

logger = logging.getLogger("forgequeue.worker")


class Attempts:
    """Runs attempts, on whichever slot's thread calls it."""

    def __init__(
        self,
        find: Find,
        outlook: Outlook,
        lane: Lane,
        *,
        worker: str,
        log_each: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find = find
        self._outlook = outlook
        self._lane = lane
        self._worker = worker
        self._log_each = log_each
        self._clock = clock
        self._home = os.getpid()

    def run(self, claimed: Claimed, batch: Batch, slot: Slot, now: float) -> Outcome | None:
        """Run one task on this thread. None when nobody wants to know any more how it ended.

        Nothing that a task does or carries gets out of here: what breaks the attempt off is a failure of the task.
        """
        try:
            return self._attempt(claimed, batch, slot, now)
        except BaseException as error:  # noqa: BLE001 - see above
            return self._broken_off(claimed, error)

    def _attempt(self, claimed: Claimed, batch: Batch, slot: Slot, now: float) -> Outcome | None:
        try:
            task = codec.decode(claimed.body, claimed.lease.task_id)
        except UndecodableBody as error:
            return _unreadable(claimed, error)
        if task.expires_at is not None and task.expires_at <= self._outlook.store_now():
            return policy.after_cancel(claimed, task, EXPIRED, started=False)
        slot.seat.describe(task.task_type, now + task.hard_timeout if task.hard_timeout else 0.0)
        hygiene.tidy()
        handler: Handler | None = None
        result = b""
        try:
            handler = self._find(task.task_type)
            if task_started.receivers:
                task_started.send_robust(sender=Task, task=task, worker=self._worker)
            if handler.is_plain and task.timeout is None:
                value = slot.context.copy().run(handler.call, task)
            else:
                value = slot.context.copy().run(self._call_with_care, handler, task, claimed.lease, batch, slot)
            end_if_forked(self._home, task.id)
            if task.keep_result > 0.0:
                result = handler.encode_result(value)
        except BaseException as error:  # noqa: BLE001 - SystemExit too is a failure of the task, not of the worker
            end_if_forked(self._home, task.id)
            outcome = self._failed(claimed, task, handler, error, batch.marks.get(task.id), self._clock() - now)
            slot.failed += isinstance(outcome, (Failed, Spent))
        else:
            outcome = self._succeeded(claimed, task, result, batch, self._clock() - now)
        hygiene.tidy()
        return outcome

    # --- handlers that can be told to stop ----------------------------------------------------------------------------

    def _call_with_care(self, handler: Handler, task: Task, lease: Lease, batch: Batch, slot: Slot) -> Any:
        context = Context(task, self._worker)

        def call() -> Any:
            return handler.call(task, context)

        if handler.is_async:
            visit = self._lane.visit(lease, context.cancel, task.timeout)
            return self._seated(visit, batch, slot, lambda: self._lane.run(visit, call))
        return self._seated(_Told(lease, context.cancel), batch, slot, lambda: self._limited(context, slot, call))

    def _limited(self, context: Context, slot: Slot, call: Callable[[], Any]) -> Any:
        seconds = context.task.timeout
        if seconds is None:
            return call()
        slot.limit = limit = SoftLimit(self._clock() + seconds, context.cancel)
        try:
            return call()
        finally:
            limit.end()
            slot.limit = None

    @staticmethod
    def _seated(stopper: Stopper, batch: Batch, slot: Slot, run: Callable[[], Any]) -> Any:
        slot.stopper = stopper
        try:
            # Whoever marks a task tells the stopper after it: one of the two looks is the later one.
            if reason := batch.marks.get(stopper.lease.task_id):
                stopper.stop(reason)
            return run()
        finally:
            slot.stopper = None

    # --- how it ended -------------------------------------------------------------------------------------------------

    def _succeeded(self, claimed: Claimed, task: Task, result: bytes, batch: Batch, seconds: float) -> Outcome | None:
        if batch.marks and batch.marks.get(task.id) == LOST:
            say_dropped(claimed.lease, SUCCEEDED)
            return None
        if task_finished.receivers:
            self._signal_end(task, State.SUCCEEDED, seconds)
        if self._log_each:
            logger.info(
                "task succeeded task=%s type=%s queue=%s attempt=%d seconds=%.3f",
                task.id, task.task_type, claimed.lease.queue, task.attempt, seconds,
            )  # fmt: skip
        return policy.after_success(claimed, task, result=result, keep_seconds=task.keep_result, seconds=seconds)

    def _broken_off(self, claimed: Claimed, error: BaseException) -> Outcome:
        """Failed, told in our own words: those of the error may be what broke it off."""
        lease, name = claimed.lease, type(error).__name__
        logger.error("attempt broke off task=%s queue=%s error=%s", lease.task_id, lease.queue, name, exc_info=error)
        try:
            task = claimed.task
        except UndecodableBody as unreadable:
            return policy.after_undecodable(claimed, unreadable)
        told = AttemptError(
            attempt=task.attempt, type=name, message="the attempt broke off", at=self._outlook.store_now()
        )
        return policy.after_failure(claimed, task, told)

    def _failed(
        self,
        claimed: Claimed,
        task: Task,
        handler: Handler | None,
        error: BaseException,
        mark: str | None,
        seconds: float,
    ) -> Outcome | None:
        """As somebody asked for from outside; else as the handler steers; else it has simply failed."""
        if mark == LOST:
            say_dropped(claimed.lease, type(error).__name__)
            return None
        if mark == CANCELLED:
            return policy.after_cancel(claimed, task, CANCELLED, started=True, seconds=seconds)
        if mark == SHUTDOWN:
            return Released(lease=claimed.lease)
        if isinstance(error, Snooze):
            return Snoozed(lease=claimed.lease, delay_seconds=error.after)
        delay_seconds = error.after if isinstance(error, Retry) else None
        if delay_seconds is None:
            delay_seconds = _own_backoff(handler, task, error)
        outcome = policy.after_failure(
            claimed,
            task,
            self._told_as_error(task, error),
            delay_seconds=delay_seconds,
            final=isinstance(error, Reject),
            seconds=seconds,
        )
        _say_failed(claimed, task, error, outcome)
        state = State.DEAD if isinstance(outcome, Spent) else State.RETRYING
        if task_failed.receivers:
            task_failed.send_robust(sender=Task, task=task, error=error, state=state, worker=self._worker)
        if task_finished.receivers:
            self._signal_end(task, state, seconds)
        return outcome

    def _signal_end(self, task: Task, state: State, seconds: float) -> None:
        task_finished.send_robust(sender=Task, task=task, state=state, seconds=seconds, worker=self._worker)

    def _told_as_error(self, task: Task, error: BaseException) -> AttemptError:
        return AttemptError(
            attempt=task.attempt,
            type=type(error).__qualname__,
            message=policy.cut(policy.text_of(error), policy.MESSAGE_LIMIT),
            at=self._outlook.store_now(),
            traceback=policy.cut(_traceback_of(error), policy.TRACEBACK_LIMIT),
            worker=self._worker,
        )


class _Told:
    """Stands for a running sync handler that takes a context."""

    __slots__ = ("lease", "stop")

    def __init__(self, lease: Lease, stop: Callable[[str], None]) -> None:
        self.lease = lease
        self.stop = stop


def _unreadable(claimed: Claimed, error: UndecodableBody) -> Outcome:
    lease = claimed.lease
    what = "is too new for this worker" if isinstance(error, NewerSchema) else "died, its body is unreadable"
    logger.error("task %s task=%s queue=%s error=%s", what, lease.task_id, lease.queue, error)
    return policy.after_undecodable(claimed, error)


def _own_backoff(handler: Handler | None, task: Task, error: BaseException) -> float | None:
    """What the handler's callable says; None for the stored rule, also where the callable fails."""
    if handler is None or handler.backoff_callable is None:
        return None
    try:
        return bounded_delay(handler.backoff_callable(task.attempt, error), "backoff")
    except Exception:
        logger.exception("backoff callable failed, the stored rule applies task=%s type=%s", task.id, task.task_type)
        return None


def _say_failed(claimed: Claimed, task: Task, error: BaseException, outcome: Outcome) -> None:
    died = isinstance(outcome, Spent)
    logger.log(
        logging.ERROR if died else logging.WARNING,
        "task %s task=%s type=%s queue=%s attempt=%d error=%s",
        "died" if died else "failed",
        task.id,
        task.task_type,
        claimed.lease.queue,
        task.attempt,
        policy.cut(f"{type(error).__name__}: {policy.text_of(error)}", ERROR_IN_LOG_LIMIT).replace("\n", " "),
    )


def _traceback_of(error: BaseException) -> str:
    """From the handler on: how it came to be called is the same for all."""
    first: TracebackType | None = error.__traceback__
    while first is not None and _is_ours(first):
        first = first.tb_next
    return "".join(traceback.format_exception(type(error), error, first))


def _is_ours(frame: TracebackType) -> bool:
    return str(frame.tb_frame.f_globals.get("__name__", "")).startswith(_OWN_MODULES)
