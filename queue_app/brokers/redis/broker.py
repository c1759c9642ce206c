"""The broker on Redis: every change of state is one Lua script, and this class is how Python calls them."""

import math
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from queue_app.brokers import base
from queue_app.brokers.base import Broker, Decide
from queue_app.brokers.redis import words
from queue_app.brokers.redis.caller import Caller
from queue_app.brokers.redis.connection import Connection, Reply
from queue_app.brokers.redis.inspection import Inspection
from queue_app.brokers.redis.keys import Keys
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
    Snapshot,
    Standing,
    WorkerRecord,
)
from queue_app.core.clock import Clock
from queue_app.core.errors import TaskGone, UndecodableBody, WrongState
from queue_app.core.lease import Claimed
from queue_app.core.names import valid_queue
from queue_app.core.outcomes import Outcome
from queue_app.core.retention import Retention
from queue_app.core.states import State

ENQUEUE_SLICE = 1_000
"""Tasks that one enqueue script stores: some milliseconds of the server's time."""
PURGE_SLICE = 1_000
TAKEOVER_LIMIT = 100
PURGE_OVERDUE_SECONDS = 60.0
"""A purge that is older than this was cut off: the sweeper finishes it."""

Word: TypeAlias = str | bytes | int | float


class RedisBroker(Broker):
    """Keeps the contract on Redis 6.2 to 8 and Valkey 7.2 to 9.

    `prefix` keeps several installations apart on one server. Only a testing broker is given a `clock`; without one
    the server's clock decides.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        prefix: str = "",
        clock: Clock | None = None,
        retention: Retention | None = None,
    ) -> None:
        self._connection = connection
        self._keys = Keys(prefix, connection.is_cluster)
        self._caller = Caller(connection, self._keys, clock)
        self._retention = retention or Retention()
        self._keep_dead = words.optional(self._retention.dead_seconds)
        self._keep_cancelled = words.optional(self._retention.cancelled_seconds)
        self._registered: set[str] = set()

    # --- entering -----------------------------------------------------------------------------------------------

    def enqueue_many(self, entries: Sequence[Enqueue]) -> list[Receipt]:
        receipts: dict[int, Receipt] = {}
        for queue, numbered in self._by_queue(entries).items():
            self._register(queue)
            for first in range(0, len(numbered), ENQUEUE_SLICE):
                part = numbered[first : first + ENQUEUE_SLICE]
                answers = self._enqueue_slice(queue, [entry for _, entry in part])
                receipts |= {number: receipt for (number, _), receipt in zip(part, answers, strict=True)}
        return [receipts[number] for number in range(len(entries))]

    def key_generation(self, queue: str, key: str) -> int:
        return int(self._caller.run("key_generation", queue, key))

    def _by_queue(self, entries: Sequence[Enqueue]) -> dict[str, list[tuple[int, Enqueue]]]:
        by_queue: dict[str, list[tuple[int, Enqueue]]] = {}
        for number, entry in enumerate(entries):
            base.checked_entry(entry)
            by_queue.setdefault(entry.task.queue, []).append((number, entry))
        return by_queue

    def _enqueue_slice(self, queue: str, entries: Sequence[Enqueue]) -> list[Receipt]:
        arguments: list[Word] = [self._retention.idempotency_seconds]
        for entry in entries:
            arguments += words.of_entry(entry)
        answers, is_new = self._caller.run("enqueue", queue, *arguments)
        if is_new:
            # The queue's first task, or the store has forgotten everything since we registered the queue.
            self._registered.discard(queue)
            self._register(queue)
        return [Receipt(task_id.decode(), word == b"created", word == b"conflict") for task_id, word in answers]

    def _register(self, queue: str) -> None:
        if queue in self._registered:
            return
        command = self._connection.command
        command("SADD", self._keys.queues, queue)
        # In a cluster each queue carries its own copy of the flag that pauses all: a new one gets it here.
        if self._keys.cluster and command("EXISTS", self._keys.paused):
            command("SET", self._keys.paused_all(queue), "1")
        self._registered.add(queue)

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
        if base.checked_limit(want, lowest=0):
            base.check_claim(holder, token, lease_seconds)
        base.checked_limit(len(outcomes), lowest=0)
        calls = [
            self._caller.call("exchange", other, "", "", 0, 0, *self._outcome_words(theirs))
            for other, theirs in words.by_queue(outcomes).items()
            if other != queue
        ]
        ours = [outcome for outcome in outcomes if outcome.lease.queue == queue] if calls else outcomes
        calls.append(
            self._caller.call("exchange", queue, holder, token, want, lease_seconds, *self._outcome_words(ours))
        )
        *others, reply = self._caller.run_all(queue, calls)
        answer = words.to_exchange(queue, token, reply)
        for other in others:
            answer.settled.update(words.to_settled(other[4]))
        return answer

    def heartbeat(self, queue: str, holders: Sequence[str], *, lease_seconds: float = base.LEASE_SECONDS) -> Beat:
        base.checked_seconds(lease_seconds, "lease_seconds")
        now, until, held, cancels = self._caller.run("heartbeat", queue, lease_seconds, *holders)
        return Beat(
            now=float(now),
            until=float(until),
            held={holder.decode(): words.to_held(token, ids) for holder, token, ids in held},
            cancels=frozenset(task_id.decode() for task_id in cancels),
        )

    def held(self, queue: str, holders: Sequence[str]) -> dict[str, tuple[Held, list[Claimed]]]:
        return {
            holder.decode(): (words.to_held(token, ids), words.to_claimed(queue, token.decode(), ids, bodies))
            for holder, token, ids, bodies in self._caller.run("held", queue, *holders)
        }

    def abandon(self, queue: str, holders: Sequence[str], outcomes: Sequence[Outcome] = ()) -> Exchange:
        base.checked_limit(len(outcomes), lowest=0)
        # The closed names are the queue's: it has to be known, so that they are swept.
        self._register(queue)
        now, settled = self._caller.run(
            "abandon",
            queue,
            base.HOLDER_CLOSED_SECONDS,
            self._keep_cancelled,
            len(holders),
            *holders,
            len(outcomes),
            *self._each_outcome(outcomes),
        )
        return Exchange(now=float(now), standing=Standing.CLOSED, settled=words.to_settled(settled))

    def wait(self, queues: Sequence[str], timeout_seconds: float) -> str | None:
        # BLPOP takes 0 for ever; a hundredth is its shortest wait that ends.
        markers = {self._keys.structure(queue, "marker"): queue for queue in queues}
        rung = self._connection.block(list(markers), max(timeout_seconds, 0.01))
        return markers[rung] if rung else None

    def ring(self, queue: str) -> None:
        self._caller.run("ring", queue)

    # --- time ---------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._caller.now()

    def promote(self, queue: str, *, limit: int = base.MAX_BATCH) -> Moved:
        return words.to_moved(self._caller.run("promote", queue, base.checked_limit(limit)))

    def reclaim(self, queue: str, decide: Decide, *, limit: int = 100) -> Moved:
        expired = self._caller.run("expired", queue, base.checked_limit(limit))
        arguments: list[Word] = []
        for task_id, token, body in expired:
            lease = words.lease_of(task_id, queue, token)
            if not body:
                arguments += words.of_drop(task_id, token)
            elif lease is None:
                arguments += words.of_release(task_id, token)
            else:
                arguments += self._outcome_arguments(decide(Claimed(lease, body)))
        return words.to_moved(self._caller.run("reclaim", queue, *arguments))

    def sweep(self, queue: str, *, limit: int = base.MAX_BATCH) -> Moved:
        moved = words.to_moved(self._caller.run("sweep", queue, base.checked_limit(limit), base.HOLDER_CLOSED_SECONDS))
        taken = self.take_over(queue)
        self._finish_purges(queue, before=self.now() - PURGE_OVERDUE_SECONDS)
        return Moved(count=moved.count + taken, more=moved.more or taken >= TAKEOVER_LIMIT)

    def take_over(self, queue: str) -> int:
        """Move up to TAKEOVER_LIMIT entries of the Go system's dead list, oldest first, into ours; how many."""
        foreign = self._keys.structure(queue, "dead")
        entries = self._connection.command("LRANGE", foreign, -TAKEOVER_LIMIT, -1)
        moved = 0
        for entry in reversed(entries):
            moved += self._caller.run("takeover", queue, entry, words.id_of_entry(entry), self._keep_dead)
        return moved

    def foreign_dead(self, queue: str) -> int:
        """How many entries the Go system's dead list of a queue has."""
        return int(self._connection.command("LLEN", self._keys.structure(queue, "dead")))

    def disagreements(self) -> Iterator[str]:
        """Walk every key of this installation; each disagreement in plain words. For people: it reads whole
        structures, one after another, and on a store in use it may report what only moved."""
        return Inspection(self._connection, self._keys).problems()

    # --- people -------------------------------------------------------------------------------------------------

    def cancel(self, task_id: str) -> Asked:
        return self._cancel(task_id, "cancel")

    def delete(self, task_id: str) -> Asked:
        return self._cancel(task_id, "delete")

    def _cancel(self, task_id: str, mark: str) -> Asked:
        queue = self._queue_of(task_id)
        answer = self._after_purges(queue, "cancel", task_id, mark, self._keep_cancelled)
        if answer == "gone":
            raise TaskGone(task_id)
        if answer not in set(Asked):
            raise WrongState(task_id, answer)
        return Asked(answer)

    def revive(self, task_id: str) -> None:
        while True:
            snapshot = self.get(task_id)
            answer = self._after_purges(
                snapshot.queue, "revive", task_id, snapshot.body, words.revived(snapshot), words.priority_of(snapshot)
            )
            if answer == "done":
                return
            if answer == "gone":
                raise TaskGone(task_id)
            if answer == "wrong":
                raise WrongState(task_id, snapshot.state)

    def promote_now(self, task_id: str) -> None:
        queue = self._queue_of(task_id)
        answer = self._after_purges(queue, "promote_now", task_id)
        if answer == "gone":
            raise TaskGone(task_id)
        if answer == "wrong":
            raise WrongState(task_id, self.get(task_id).state)

    def pause(self, queue: str | None = None) -> None:
        if queue is not None:
            queue = valid_queue(queue)
            self._register(queue)
            self._connection.command("SET", self._keys.structure(queue, "paused"), "1")
            return
        for flag in self._flags_of_all():
            self._connection.command("SET", flag, "1")

    def resume(self, queue: str | None = None) -> None:
        if queue is not None:
            self._caller.run("resume", valid_queue(queue), "queue")
            return
        for flag in self._flags_of_all():
            self._connection.command("DEL", flag)
        for each in self.queues():
            self._caller.run("resume", each, "all")

    def _flags_of_all(self) -> list[str]:
        copies = [self._keys.paused_all(queue) for queue in self.queues()] if self._keys.cluster else []
        return [self._keys.paused, *copies]

    def purge(self, queue: str, *, include: Iterable[State] = ()) -> int:
        also = words.purgeable(include)
        record = f"{self.now():.0f}-{uuid.uuid4().hex}"
        self._caller.run("purge", queue, record, "ready", *also)
        self._finish_purge(queue, record)
        counts = self._keys.structure(queue, "purges:count")
        gone = int(self._connection.command("HGET", counts, record) or 0)
        self._connection.command("HDEL", counts, record)
        return gone

    def _finish_purge(self, queue: str, record: str) -> None:
        while self._caller.run("purge_slice", queue, record, PURGE_SLICE):
            pass

    def _finish_purges(self, queue: str, *, before: float = math.inf) -> None:
        for record in self._connection.command("SMEMBERS", self._keys.structure(queue, "purges")):
            if float(record.split(b"-")[0]) <= before:
                self._finish_purge(queue, record.decode())

    def _after_purges(self, queue: str, script: str, *arguments: Word) -> str:
        """Run a script that has to know where a task stands: purges under way are finished first."""
        while True:
            answer: str = self._caller.run(script, queue, *arguments).decode()
            if answer != "purging":
                return answer
            self._finish_purges(queue)

    # --- reading ------------------------------------------------------------------------------------------------

    def find(self, task_id: str) -> Snapshot | None:
        for queue in self._candidate_queues(task_id):
            snapshot = words.to_snapshot(queue, task_id, self._caller.run("look", queue, task_id)[0])
            if snapshot is not None:
                return snapshot
        return None

    def _queue_of(self, task_id: str) -> str:
        return self.get(task_id).queue

    def _candidate_queues(self, task_id: str) -> list[str]:
        """The queue that the body names. In a cluster, or for a body that cannot be read: any."""
        if self._keys.cluster:
            return self.queues()
        task_key, finished_key = self._keys.task("", task_id), self._keys.finished("", task_id)
        alive, finished = self._connection.command("MGET", task_key, finished_key)
        body = alive or finished
        if body is None:
            return []
        try:
            return [codec.decode(body).queue]
        except UndecodableBody:
            return self._queues_holding(task_id)

    def _queues_holding(self, task_id: str) -> list[str]:
        """Where a task with an unreadable body stands; "ready" is known by elimination only, so that comes last."""
        states = {queue: self._caller.run("look", queue, task_id)[0][0] for queue in self.queues()}
        return sorted(states, key=lambda queue: states[queue] == b"ready")

    def list_tasks(self, queue: str, state: State, *, cursor: str | None = None, limit: int = 50) -> Page:
        offset = words.offset_of(cursor)
        looked, found = self._caller.run("list_tasks", queue, State(state).value, offset, base.checked_limit(limit))
        snapshots = [words.to_listed(queue, State(state), *each) for each in found]
        return Page(snapshots, str(offset + looked) if looked >= limit else None)

    def queues(self) -> list[str]:
        return words.to_queues(self._connection.command("SMEMBERS", self._keys.queues))

    def stats(self, queue: str) -> QueueStats:
        return words.to_stats(queue, self._caller.run("stats", queue))

    def throughput(self, queue: str, *, coarse: bool = False) -> list[Bucket]:
        width, reach = base.THROUGHPUT_COARSE if coarse else base.THROUGHPUT_FINE
        structure = "throughput_coarse" if coarse else "throughput"
        fields = self._connection.command("HGETALL", self._keys.structure(queue, structure))
        return words.to_buckets(fields, since=self.now() - reach - width)

    def recent(self, queue: str, *, limit: int = base.RECENT_LIMIT) -> list[Recent]:
        last = base.checked_limit(limit) - 1
        lines = self._connection.command("LRANGE", self._keys.structure(queue, "recent"), 0, last)
        return [line for line in map(words.to_recent, lines) if line is not None]

    # --- workers ------------------------------------------------------------------------------------------------

    def announce(self, worker: WorkerRecord) -> None:
        for queue in worker.queues:
            self._register(queue)
        is_first, _ = self._announce(worker.name, msgspec.json.encode(worker))
        if is_first:
            # Or the store has forgotten everything since; a foreign producer tells it of no queue.
            self._registered.difference_update(worker.queues)
            for queue in worker.queues:
                self._register(queue)

    def retire(self, name: str) -> None:
        self._connection.command("HDEL", self._keys.workers, name)
        self._connection.command("ZREM", f"{self._keys.workers}:seen", name)

    def workers(self) -> list[WorkerRecord]:
        _, records = self._announce("", b"")
        told = (words.to_worker(record, seen) for _, record, seen in sorted(records))
        return [worker for worker in told if worker is not None]

    def _announce(self, name: str, record: bytes) -> tuple[int, list[Reply]]:
        keys = (self._keys.workers, f"{self._keys.workers}:seen")
        is_first, records = self._caller.run_apart("announce", keys, base.WORKER_GONE_SECONDS, name, record)
        return is_first, records

    def concerns(self) -> list[str]:
        if self._connection.is_cluster:
            return []
        policy, limit = words.to_memory(self._connection.command("INFO", "memory"))
        if policy == "noeviction":
            return []
        when = f"when it is full ({limit:,} bytes)" if limit else "as soon as it is given a maxmemory"
        return [f"this Redis drops keys {when}, tasks too: set maxmemory-policy noeviction instead of {policy}"]

    def close(self) -> None:
        self._connection.close()

    def _outcome_words(self, outcomes: Sequence[Outcome]) -> list[Word]:
        groups, others = words.grouped(outcomes)
        return [*groups, len(others), *self._each_outcome(others)]

    def _each_outcome(self, outcomes: Sequence[Outcome]) -> list[Word]:
        return [word for outcome in outcomes for word in self._outcome_arguments(outcome)]

    def _outcome_arguments(self, outcome: Outcome) -> list[Word]:
        return words.of_outcome(outcome, self._keep_dead, self._keep_cancelled)
