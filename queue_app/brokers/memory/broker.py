"""The verbs of the contract, each one step under the lock."""

import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from queue_app.brokers import base
from queue_app.brokers.base import (
    Broker,
    Decide,
    check_claim,
    checked_entry,
    checked_limit,
    checked_outcome,
    checked_seconds,
)
from queue_app.brokers.memory import rules
from queue_app.brokers.memory.entering import Entrance
from queue_app.brokers.memory.holding import Holders
from queue_app.brokers.memory.queue import Queue
from queue_app.brokers.memory.settling import Settlement
from queue_app.brokers.memory.stored import Stored
from queue_app.core import codec
from queue_app.core.answers import (
    Asked,
    Beat,
    Bucket,
    Enqueue,
    Exchange,
    Held,
    Moved,
    Page,
    QueueStats,
    Receipt,
    Recent,
    Settled,
    Snapshot,
    Standing,
    WorkerRecord,
)
from queue_app.core.clock import Clock, SystemClock
from queue_app.core.errors import TaskGone, WrongState
from queue_app.core.lease import Claimed
from queue_app.core.names import valid_queue
from queue_app.core.outcomes import Outcome, Released
from queue_app.core.retention import Retention
from queue_app.core.states import State


class QueueParts(NamedTuple):
    """One queue: where its tasks stand, the way in, and who holds what."""

    queue: Queue
    entrance: Entrance
    holders: Holders


class MemoryBroker(Broker):
    """Keeps the contract for the threads of one process, for as long as it lives."""

    def __init__(self, *, clock: Clock | None = None, retention: Retention | None = None) -> None:
        self._clock = clock or SystemClock()
        self._retention = retention or Retention()
        self._lock = threading.Condition()
        self._tasks: dict[str, Stored] = {}
        self._queues: dict[str, QueueParts] = {}
        self._names: set[str] = set()
        self._is_paused = False
        self._workers: dict[str, WorkerRecord] = {}

    # --- entering -----------------------------------------------------------------------------------------------

    def enqueue_many(self, entries: Sequence[Enqueue]) -> list[Receipt]:
        bodies = [codec.encode(checked_entry(entry).task) for entry in entries]
        queues = list(dict.fromkeys(entry.task.queue for entry in entries))
        receipts: dict[int, Receipt] = {}
        with self._lock:
            now = self._clock.now()
            self._names.update(queues)
            # Queue by queue: one step each, in a store that takes steps.
            for number, entry in sorted(enumerate(entries), key=lambda each: queues.index(each[1].task.queue)):
                receipts[number] = self._parts(entry.task.queue).entrance.enqueue(entry, bodies[number], now)
        return [receipts[number] for number in range(len(entries))]

    def key_generation(self, queue: str, key: str) -> int:
        with self._lock:
            return self._parts(queue).entrance.key_generation(key, self._clock.now())

    # --- running ------------------------------------------------------------------------------------------------

    def exchange(
        self,
        queue: str,
        *,
        holder: str,
        token: str,
        outcomes: Sequence[Outcome] = (),
        want: int = 0,
        lease_seconds: float = base.LEASE_SECONDS,
    ) -> Exchange:
        if checked_limit(want, lowest=0):
            check_claim(holder, token, lease_seconds)
        _check_outcomes(outcomes)
        with self._lock:
            now = self._clock.now()
            settled = self._settle(queue, outcomes, now)
            if want == 0:
                return Exchange(now=now, standing=Standing.UNASKED, settled=settled)
            its = self._queue(queue)
            standing, claimed = self._parts(queue).holders.claim(
                holder, token, want, lease_seconds, now, is_paused=its.is_paused or self._is_paused
            )
            return Exchange(
                now=now,
                standing=standing,
                claimed=[task.claimed() for task in claimed],
                settled=settled,
                next_due_at=its.next_due_at,
                next_expiry_at=its.next_expiry_at,
            )

    def heartbeat(self, queue: str, holders: Sequence[str], *, lease_seconds: float = base.LEASE_SECONDS) -> Beat:
        checked_seconds(lease_seconds, "lease_seconds")
        with self._lock:
            now = self._clock.now()
            until = now + lease_seconds
            held, cancels = {}, set()
            for holder in holders:
                token, tasks = self._parts(queue).holders.held(holder)
                for task in tasks:
                    self._queue(queue).renew(task, until)
                cancels |= {task.id for task in tasks if task.mark}
                if tasks:
                    held[holder] = Held(token, tuple(task.id for task in tasks))
            return Beat(now=now, until=until, held=held, cancels=frozenset(cancels))

    def held(self, queue: str, holders: Sequence[str]) -> dict[str, tuple[Held, list[Claimed]]]:
        with self._lock:
            found = {holder: self._parts(queue).holders.held(holder) for holder in holders}
            return {
                holder: (Held(token, tuple(task.id for task in tasks)), [task.claimed() for task in tasks])
                for holder, (token, tasks) in found.items()
                if tasks
            }

    def abandon(self, queue: str, holders: Sequence[str], outcomes: Sequence[Outcome] = ()) -> Exchange:
        _check_outcomes(outcomes)
        with self._lock:
            now = self._clock.now()
            # The closed names are the queue's: it has to be known, so that somebody sweeps them.
            self._names.add(queue)
            settlement = Settlement(self._queue(queue), now)
            settled = settlement.settle_all(outcomes)
            for holder in holders:
                for task in self._parts(queue).holders.held(holder)[1]:
                    settlement.apply(task, Released(lease=task.claimed().lease))
                self._parts(queue).holders.close(holder, now)
            settlement.put_back()
            return Exchange(now=now, standing=Standing.CLOSED, settled=settled)

    def wait(self, queues: Sequence[str], timeout_seconds: float) -> str | None:
        def take_marker() -> str | None:
            return next((name for name in queues if self._queue(name).take_marker()), None)

        with self._lock:
            return self._lock.wait_for(take_marker, max(timeout_seconds, 0.0))

    def _settle(self, queue: str, outcomes: Sequence[Outcome], now: float) -> dict[str, Settled]:
        """Outcomes of other queues first, each queue a step of its own."""
        ours = [outcome for outcome in outcomes if outcome.lease.queue == queue]
        others = [outcome for outcome in outcomes if outcome.lease.queue != queue]
        settled: dict[str, Settled] = {}
        for name in dict.fromkeys(outcome.lease.queue for outcome in others):
            settled |= self._settle_in(name, [outcome for outcome in others if outcome.lease.queue == name], now)
        return self._settle_in(queue, ours, now) | settled

    def _settle_in(self, queue: str, outcomes: Sequence[Outcome], now: float) -> dict[str, Settled]:
        settlement = Settlement(self._queue(queue), now)
        settled = settlement.settle_all(outcomes)
        settlement.put_back()
        return settled

    def ring(self, queue: str) -> None:
        with self._lock:
            self._queue(queue).ring()

    # --- time ---------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    def promote(self, queue: str, *, limit: int = base.MAX_BATCH) -> Moved:
        checked_limit(limit)
        with self._lock:
            now, its = self._clock.now(), self._queue(queue)
            due = its.due(now, limit)
            for task in due:
                its.move(task, State.READY)
            return _moved(len(due), its.next_due_at, now)

    def reclaim(self, queue: str, decide: Decide, *, limit: int = 100) -> Moved:
        checked_limit(limit)
        with self._lock:
            expired = [task.claimed() for task in self._queue(queue).expired(self._clock.now(), limit)]
        # Not under the lock: to decide is the caller's code.
        outcomes = [checked_outcome(decide(claimed)) for claimed in expired]
        with self._lock:
            now, its = self._clock.now(), self._queue(queue)
            settlement = Settlement(its, now)
            count = sum(self._reclaim_one(its, settlement, outcome, now) for outcome in outcomes)
            settlement.put_back()
            return _moved(count, its.next_expiry_at, now)

    def _reclaim_one(self, queue: Queue, settlement: Settlement, outcome: Outcome, now: float) -> bool:
        task = queue.owned(outcome.lease.task_id, outcome.lease.token)
        if task is None or task.at is None or task.at > now:
            return False
        # Applied, not settled: to the worker that comes late, its lease is lost and no call of its own is repeated.
        settlement.apply(task, outcome)
        queue.events.count("reclaimed", now)
        return True

    def sweep(self, queue: str, *, limit: int = base.MAX_BATCH) -> Moved:
        checked_limit(limit)
        with self._lock:
            now, its = self._clock.now(), self._queue(queue)
            past = its.past(now, limit)
            for task in past:
                its.drop(task)
            self._parts(queue).entrance.forget_keys(now)
            self._parts(queue).holders.forget(now)
            its.events.forget(now)
            return Moved(count=len(past), more=len(past) >= limit)

    # --- people -------------------------------------------------------------------------------------------------

    def cancel(self, task_id: str) -> Asked:
        with self._lock:
            task, its, now = self._known(task_id)
            if task.state is State.RUNNING:
                task.mark = task.mark or "cancel"
                return Asked.REQUESTED
            if task.state.is_finished:
                raise WrongState(task_id, task.state)
            its.finish(task, State.CANCELLED, self._retention.cancelled_seconds, now)
            its.events.count("cancelled", now)
            return Asked.DONE

    def delete(self, task_id: str) -> Asked:
        with self._lock:
            task, its, now = self._known(task_id)
            if task.state is State.RUNNING:
                task.mark = "delete"
                return Asked.REQUESTED
            its.drop(task)
            its.events.count("deleted", now)
            return Asked.DONE

    def revive(self, task_id: str) -> None:
        with self._lock:
            task, its, _ = self._known(task_id)
            if task.state not in (State.DEAD, State.CANCELLED):
                raise WrongState(task_id, task.state)
            body, priority = rules.revived(task.snapshot())
            its.drop(task)
            its.put(Stored(id=task_id, queue=its.name, body=body, priority=priority, state=State.READY))

    def promote_now(self, task_id: str) -> None:
        with self._lock:
            task, its, _ = self._known(task_id)
            if task.state not in (State.SCHEDULED, State.RETRYING):
                raise WrongState(task_id, task.state)
            its.move(task, State.READY)

    def pause(self, queue: str | None = None) -> None:
        with self._lock:
            if queue is None:
                self._is_paused = True
                return
            self._names.add(valid_queue(queue))
            self._queue(queue).is_paused = True

    def resume(self, queue: str | None = None) -> None:
        with self._lock:
            if queue is None:
                self._is_paused = False
                for name in self._names:
                    self._queue(name).ring()
                return
            self._queue(valid_queue(queue)).is_paused = False
            self._queue(queue).ring()

    def purge(self, queue: str, *, include: Iterable[State] = ()) -> int:
        states = rules.purgeable(include)
        with self._lock:
            its, count = self._queue(queue), 0
            for state in states:
                waiting = [self._tasks[task_id] for task_id in its.ids(state)]
                count += len(waiting)
                for task in waiting:
                    its.drop(task)
            its.events.count("purged", self._clock.now(), count)
            return count

    # --- reading ------------------------------------------------------------------------------------------------

    def find(self, task_id: str) -> Snapshot | None:
        with self._lock:
            task = self._tasks.get(task_id)
            return None if task is None or task.is_past(self._clock.now()) else task.snapshot()

    def list_tasks(self, queue: str, state: State, *, cursor: str | None = None, limit: int = 50) -> Page:
        checked_limit(limit)
        offset = rules.offset_of(cursor)
        with self._lock:
            now, ids = self._clock.now(), self._queue(queue).ids(State(state))
            looked_at = [self._tasks[task_id] for task_id in islice(ids, offset, offset + limit)]
            snapshots = [task.listed() for task in looked_at if not task.is_past(now)]
            return Page(snapshots, str(offset + limit) if len(looked_at) == limit else None)

    def queues(self) -> list[str]:
        with self._lock:
            return sorted(self._names)

    def stats(self, queue: str) -> QueueStats:
        with self._lock:
            now, its = self._clock.now(), self._queue(queue)
            return QueueStats(
                queue=queue,
                counts={state: its.count(state, now) for state in State},
                totals=dict(its.events.totals),
                paused=its.is_paused,
                paused_by_all=self._is_paused,
            )

    def throughput(self, queue: str, *, coarse: bool = False) -> list[Bucket]:
        with self._lock:
            return self._queue(queue).events.throughput(self._clock.now(), coarse=coarse)

    def recent(self, queue: str, *, limit: int = base.RECENT_LIMIT) -> list[Recent]:
        checked_limit(limit)
        with self._lock:
            return self._queue(queue).recent.newest(limit)

    # --- workers ------------------------------------------------------------------------------------------------

    def announce(self, worker: WorkerRecord) -> None:
        with self._lock:
            self._names.update(worker.queues)
            self._workers[worker.name] = msgspec.structs.replace(worker, seen_at=self._clock.now())

    def retire(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)

    def workers(self) -> list[WorkerRecord]:
        with self._lock:
            oldest = self._clock.now() - base.WORKER_GONE_SECONDS
            self._workers = {name: worker for name, worker in self._workers.items() if worker.seen_at > oldest}
            return [self._workers[name] for name in sorted(self._workers)]

    def close(self) -> None:
        """There is nothing to let go of."""

    # --- the parts of a queue -------------------------------------------------------------------------------------

    def _parts(self, name: str) -> QueueParts:
        if name not in self._queues:
            queue = Queue(name, self._tasks, self._retention, self._lock.notify_all)
            self._queues[name] = QueueParts(queue, Entrance(queue), Holders(queue))
        return self._queues[name]

    def _queue(self, name: str) -> Queue:
        return self._parts(name).queue

    def _known(self, task_id: str) -> tuple[Stored, Queue, float]:
        """The task, its queue and the time; TaskGone when it is unknown or past retention."""
        now, task = self._clock.now(), self._tasks.get(task_id)
        if task is None or task.is_past(now):
            raise TaskGone(task_id)
        return task, self._queue(task.queue), now


def _check_outcomes(outcomes: Sequence[Outcome]) -> None:
    checked_limit(len(outcomes), lowest=0)
    for outcome in outcomes:
        checked_outcome(outcome)


def _moved(count: int, next_at: float | None, now: float) -> Moved:
    return Moved(count=count, more=next_at is not None and next_at <= now, next_at=next_at)
