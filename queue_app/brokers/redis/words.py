"""Between Python values and the words that scripts take and answer. No calls, no state."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from queue_app.brokers.base import checked_outcome
from queue_app.core import codec, names
from queue_app.core.answers import (
    Bucket,
    Enqueue,
    Exchange,
    Held,
    Moved,
    QueueStats,
    Recent,
    Settled,
    Snapshot,
    Standing,
    WorkerRecord,
)
from queue_app.core.errors import UndecodableBody
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Released, Snoozed, Spent, Succeeded
from queue_app.core.showing import shown
from queue_app.core.states import State
from queue_app.core.task import Task

Word: TypeAlias = str | bytes | int | float

STATES = (
    State.READY,
    State.RUNNING,
    State.SCHEDULED,
    State.RETRYING,
    State.SUCCEEDED,
    State.DEAD,
    State.CANCELLED,
)
"""The order in which stats.lua answers."""


def optional(seconds: float | None) -> Word:
    """A lifetime; '' for ever."""
    return "" if seconds is None else seconds


# --- what scripts take ----------------------------------------------------------------------------------------------


def of_entry(entry: Enqueue) -> tuple[Word, ...]:
    """The seven arguments of one task in enqueue.lua."""
    task = entry.task
    body, key = codec.encode(task), task.idempotency_key
    if key is None:
        return (task.id, body, task.priority, _due(entry), "", "", 0)
    return (task.id, body, task.priority, _due(entry), key, fingerprint(task), generation_of(task))


def fingerprint(task: Task) -> str:
    """What a repeat under the same idempotency key must have in common: type and payload."""
    return hashlib.sha256(task.task_type.encode() + b"\0" + (task.payload or b"")).hexdigest()[:32]


def generation_of(task: Task) -> int:
    """Which generation of its key the id was derived from; the client notes it in the headers."""
    return int(task.headers.get("forgequeue-key-generation", "0"))


def _due(entry: Enqueue) -> str:
    if entry.due_at is not None:
        return f"@{entry.due_at!r}"
    return f"+{entry.delay_seconds!r}" if entry.delay_seconds > 0 else ""


def by_queue(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by the queue of their lease, in order."""
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parts.setdefault(outcome.lease.queue, []).append(outcome)
    return parts


def grouped(outcomes: Sequence[Outcome]) -> tuple[list[Word], list[Outcome]]:
    """The words of plain successes, which leave together by token, and the other outcomes.

    Where an id comes twice they are settled one by one, in order: then nothing is grouped.
    """
    if len({outcome.lease.task_id for outcome in outcomes}) < len(outcomes):
        return [0], list(outcomes)
    tokens: dict[str, list[Outcome]] = {}
    others: list[Outcome] = []
    for outcome in outcomes:
        if type(outcome) is Succeeded and outcome.keep_seconds <= 0.0:
            tokens.setdefault(outcome.lease.token, []).append(outcome)
        else:
            others.append(outcome)
    group_words: list[Word] = [len(tokens)]
    for token, group in tokens.items():
        group_words += (token, len(group))
        group_words += [outcome.lease.task_id for outcome in group]
        group_words += [outcome.note for outcome in group]
    return group_words, others


def of_outcome(outcome: Outcome, keep_dead: Word, keep_cancelled: Word) -> list[Word]:
    """The nine arguments of one outcome in lib/settle.lua."""
    kind, body, seconds, result = _parts(checked_outcome(outcome))
    lease = outcome.lease
    return [kind, lease.task_id, lease.token, body, seconds, result, outcome.note, keep_dead, keep_cancelled]


def of_drop(task_id: bytes, token: bytes) -> list[Word]:
    """The same for a lease that has no body."""
    return ["drop", task_id, token, b"", 0, b"", b"", "", ""]


def of_release(task_id: bytes, token: bytes) -> list[Word]:
    """The same for a lease whose id is no text: the next claim knows what to do with that."""
    return ["release", task_id, token, b"", 0, b"", b"", "", ""]


def lease_of(task_id: bytes, queue: str, token: bytes) -> Lease | None:
    """A lease that others may have written; None for one whose id or token is no text."""
    try:
        return Lease(task_id.decode(), queue, token.decode())
    except UnicodeDecodeError:
        return None


def _parts(outcome: Outcome) -> tuple[str, bytes, float, bytes]:
    match outcome:
        case Succeeded(keep_seconds=seconds, result=result, body=body):
            return "ack", body, seconds, result
        case Failed(body=body, delay_seconds=seconds):
            return "retry", body, seconds, b""
        case Snoozed(delay_seconds=seconds):
            return "snooze", b"", seconds, b""
        case Spent(body=body):
            return "dead", body, 0, b""
        case Released():
            return "release", b"", 0, b""
        case Cancelled(body=body):
            return "cancel", body, 0, b""
    raise TypeError(f"{type(outcome).__name__} is no outcome")


def revived(snapshot: Snapshot) -> bytes:
    """The body of a task that gets a new budget: attempts reset, errors kept."""
    try:
        times = snapshot.task.revived + 1
    except UndecodableBody:
        return snapshot.body
    return codec.amend(snapshot.body, attempts=0, revived=times, cancel_reason=None)


def priority_of(snapshot: Snapshot) -> int:
    """The task's priority; that of an unreadable one is 0."""
    try:
        return snapshot.task.priority
    except UndecodableBody:
        return 0


def purgeable(include: Iterable[State]) -> list[str]:
    """The states that a purge may take beside ready; ValueError for any other."""
    wanted = [State(state) for state in include]
    wrong = [state.value for state in wanted if not state.is_waiting]
    if wrong:
        raise ValueError(f"a purge takes ready, scheduled and retrying tasks, not {', '.join(wrong)}")
    return sorted({state.value for state in wanted} - {State.READY})


def id_of_entry(entry: bytes) -> str:
    """The id of a body in a foreign dead list; one that cannot be read gets an id made from its bytes."""
    try:
        return names.valid_task_id(codec.decode(entry).id)
    except (UndecodableBody, ValueError):
        return f"unreadable-{hashlib.sha256(entry).hexdigest()[:32]}"


def offset_of(cursor: str | None) -> int:
    """How far a cursor is into its list; ValueError for one that was not given by list_tasks."""
    if cursor is None:
        return 0
    if not isinstance(cursor, str) or not cursor.isdecimal() or len(cursor) > 15:
        raise ValueError(f"{shown(cursor, 40)} is no cursor")
    return int(cursor)


# --- what scripts answer --------------------------------------------------------------------------------------------


def to_exchange(queue: str, token: str, reply: Sequence[bytes | list[bytes] | None]) -> Exchange:
    """The answer of exchange.lua."""
    now, standing, next_due, next_expiry, settled, ids, bodies = reply
    return Exchange(
        now=float(now),  # type: ignore[arg-type]
        standing=Standing(standing.decode()),  # type: ignore[union-attr]
        claimed=to_claimed(queue, token, ids, bodies),  # type: ignore[arg-type]
        settled=to_settled(settled),  # type: ignore[arg-type]
        next_due_at=_time(next_due),  # type: ignore[arg-type]
        next_expiry_at=_time(next_expiry),  # type: ignore[arg-type]
    )


def to_claimed(queue: str, token: str, ids: Sequence[bytes], bodies: Sequence[bytes]) -> list[Claimed]:
    """Leases with their bodies."""
    return [
        Claimed(Lease(task_id.decode(), queue, token), body or b"") for task_id, body in zip(ids, bodies, strict=True)
    ]


def to_settled(pairs: Sequence[bytes]) -> dict[str, Settled]:
    """What became of outcomes that were not plainly done."""
    words = [word.decode() for word in pairs]
    return {task_id: Settled(word) for task_id, word in zip(words[::2], words[1::2], strict=True)}


def to_held(token: bytes, ids: Sequence[bytes]) -> Held:
    """What a holder holds."""
    return Held(token.decode(), tuple(task_id.decode() for task_id in ids))


def to_moved(reply: Sequence[int | bytes | None]) -> Moved:
    """How much a slice of maintenance moved."""
    count, more, *rest = reply
    return Moved(count=int(count or 0), more=bool(more), next_at=_time(rest[0]) if rest else None)  # type: ignore[arg-type]


def to_snapshot(queue: str, task_id: str, reply: Sequence[bytes | None]) -> Snapshot | None:
    """One answer of look.lua; None for a task that is not known."""
    state, at, body, result, mark = reply
    if not state:
        return None
    return Snapshot(
        id=task_id,
        queue=queue,
        state=State(state.decode()),
        body=body or b"",
        at=_time(at),
        result=result,
        cancel_requested=mark is not None,
    )


def to_listed(queue: str, state: State, task_id: bytes, at: bytes, body: bytes) -> Snapshot:
    """One line of list_tasks.lua."""
    return Snapshot(id=task_id.decode("utf-8", "replace"), queue=queue, state=state, body=body, at=_time(at))


def to_queues(members: Iterable[bytes]) -> list[str]:
    """The names in order, without those that no queue can have: somebody else wrote them."""
    return sorted(filter(names.is_queue, (member.decode("utf-8", "replace") for member in members)))


def to_stats(queue: str, reply: Sequence[int | list[bytes]]) -> QueueStats:
    """The answer of stats.lua."""
    *counts, paused, paused_all, totals = reply
    words = [word.decode() for word in totals]  # type: ignore[union-attr]
    return QueueStats(
        queue=queue,
        counts=dict(zip(STATES, counts, strict=True)),  # type: ignore[arg-type]
        totals={event: int(number) for event, number in zip(words[::2], words[1::2], strict=True)},
        paused=bool(paused),
        paused_by_all=bool(paused_all),
    )


def to_buckets(fields: Sequence[bytes], *, since: float) -> list[Bucket]:
    """The throughput hash in order of time, without what is older than `since`."""
    buckets: dict[float, dict[str, int]] = {}
    for field, number in zip(fields[::2], fields[1::2], strict=True):
        start, event = field.decode().split(":")
        if float(start) > since:
            buckets.setdefault(float(start), {})[event] = int(number)
    return [Bucket(start, buckets[start]) for start in sorted(buckets)]


def to_recent(line: bytes) -> Recent | None:
    """A line of the recent list, or None for one that this version cannot read."""
    try:
        finished_at, state, note = line.split(b" ", 2)
        task_id, task_type, attempt, seconds = msgspec.json.decode(note, type=tuple[str, str, int, float])
        return Recent(float(finished_at), State(state.decode()), task_id, task_type, attempt, seconds)
    except (ValueError, msgspec.DecodeError):
        return None


def to_memory(info: bytes) -> tuple[str, int]:
    """The eviction policy and the limit, 0 for none, from INFO memory; noeviction where the server does not say."""
    fields = dict(line.partition(":")[::2] for line in info.decode().splitlines() if ":" in line)
    return fields.get("maxmemory_policy", "noeviction"), int(fields.get("maxmemory", 0))


def to_worker(record: bytes, seen: bytes) -> WorkerRecord | None:
    """What a worker said of itself, and when; None for what this version cannot read."""
    try:
        worker = msgspec.json.decode(record, type=WorkerRecord)
    except (ValueError, msgspec.DecodeError):
        return None
    return msgspec.structs.replace(worker, seen_at=float(seen))


def _time(word: bytes | None) -> float | None:
    return float(word) if word else None
