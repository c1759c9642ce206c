"""The broker contract: what every store promises.

1. Atomic. A change of state is one step in the store. A refusal changes nothing.
2. Fenced. Every claim has a token that no other claim has. Whoever settles or renews presents it, and the store
   refuses, in the same step, a token that no longer owns the task: a late worker cannot touch a newer attempt.
3. Conserved. An id that enqueue returned is in exactly one state until it is swept or deleted. No key without an
   owner, no id without a body; counts equal a full walk.
4. Counted once. `attempts` rises once per run that started and was not released. Crash, lease loss, timeout and
   exception count; shutdown, hand-back, pause and snooze do not. Where nobody can know, it counts.
5. One clock. The store decides what is due and what has expired. Only a testing broker can be given another clock.
6. Bounded. No call is O(queue): batches have limits, reads have pages, maintenance works in slices.
7. Replayable. A call whose reply was lost may be sent again and does no harm: an id settled by that token before
   answers "repeated" or "gone", a holder that asks again with the same token gets the same tasks, not more.

A *holder* is a slot's name. It holds one batch at a time, and the store keeps which: token and ids. It takes no new
token until its last call was answered: it repeats that call. Durations and instants are seconds; instants are Unix
time. A number that is out of bounds or not finite, and a claim without a word for its holder and its token, are a
ValueError, and nothing has changed. Every method may raise StoreUnavailable (it may or may not have happened: repeat
it) and StoreRefused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from queue_app.core import ids
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
    WorkerRecord,
)
from queue_app.core.errors import DuplicateTask, HolderClosed, IdempotencyConflict, LeaseLost, TaskGone
from queue_app.core.lease import Claimed, Lease
from queue_app.core.names import valid_idempotency_key, valid_queue, valid_task_id
from queue_app.core.outcomes import Failed, Outcome, Released, Snoozed, Spent, Succeeded
from queue_app.core.showing import shown
from queue_app.core.states import State
from queue_app.core.task import Task

LEASE_SECONDS = 10.0
MAX_BATCH = 1_000
"""The most tasks that one claim, promote, reclaim or sweep takes: a script's work stays far below 50 ms."""
MAX_CLAIM_BYTES = 4 * 1024 * 1024
"""A claim stops at this many bytes of bodies, but always takes one."""
MAX_DEAD_ENTRIES = 1_000
"""A claim drops at most this many entries without a task before it answers "more"."""
RECENT_LIMIT = 100
"""How many finished tasks a queue's recent list keeps."""
HOLDER_CLOSED_SECONDS = 3_600.0
"""How long the name of an abandoned holder is kept closed: far longer than a lost packet can travel."""
FARTHEST_SECONDS = 1e12
"""No instant or duration is larger: the year 33,658."""
WORKER_GONE_SECONDS = 10.0
"""A worker that was not heard of for this long is gone."""
THROUGHPUT_FINE = (10.0, 3_600.0)
"""Width and reach of the fine throughput buckets: 10 s, for an hour."""
THROUGHPUT_COARSE = (300.0, 7 * 86_400.0)
"""Width and reach of the coarse ones: 5 min, for a week."""

EVENTS = (
    "enqueued",
    "succeeded",
    "retried",
    "dead",
    "cancelled",
    "released",
    "snoozed",
    "reclaimed",
    "deleted",
    "purged",
)
"""What `totals` and throughput count. A reclaim also counts as retried, dead or cancelled, by what it led to."""

Decide = Callable[[Claimed], Outcome]
"""What becomes of a task whose lease ran out: Failed or Spent (the attempt counts)."""


class Broker(ABC):
    """A durable queue store that keeps the seven promises of this module."""

    # --- entering -----------------------------------------------------------------------------------------------

    @abstractmethod
    def enqueue_many(self, entries: Sequence[Enqueue]) -> list[Receipt]:
        """Store tasks: — → ready, or scheduled when due later. One receipt per entry, in order.

        An id that the store knows in any state, or an idempotency key that it remembers in that queue, changes
        nothing and answers `created=False` with the id it has; other type or payload under the same key adds
        `conflict=True`. The same entries sent again are such repeats. One step per queue and slice.
        """

    @abstractmethod
    def key_generation(self, queue: str, key: str) -> int:
        """Which generation of `ids.keyed_id` the next enqueue with this idempotency key has, or the present one has."""

    # --- running ------------------------------------------------------------------------------------------------

    @abstractmethod
    def exchange(
        self,
        queue: str,
        *,
        holder: str,
        token: str,
        outcomes: Sequence[Outcome] = (),
        want: int = 0,
        lease_seconds: float = LEASE_SECONDS,
    ) -> Exchange:
        """Settle `outcomes`, then claim up to `want` tasks of `queue` for `holder` under `token`: one step.

        Claiming takes larger priorities first and, within one, the oldest; it stops at MAX_CLAIM_BYTES. It claims
        nothing while the queue or everything is paused, and never for a holder that was abandoned. A `token` that
        this holder presented last gets again what it then claimed and still owns. Outcomes of other queues are
        settled too, each queue in a step of its own, before the claim.
        """

    @abstractmethod
    def heartbeat(self, queue: str, holders: Sequence[str], *, lease_seconds: float = LEASE_SECONDS) -> Beat:
        """Move the deadline of everything these holders hold in `queue`; says what that is and what should stop."""

    @abstractmethod
    def held(self, queue: str, holders: Sequence[str]) -> dict[str, tuple[Held, list[Claimed]]]:
        """What each of these holders holds, with the bodies, and nothing for those that hold nothing."""

    @abstractmethod
    def abandon(self, queue: str, holders: Sequence[str], outcomes: Sequence[Outcome] = ()) -> Exchange:
        """Close these names for good: settle `outcomes`, release everything else they hold, uncounted, at the head.

        An exchange of theirs that arrives later settles nothing and claims nothing.
        """

    @abstractmethod
    def wait(self, queues: Sequence[str], timeout_seconds: float) -> str | None:
        """Sleep until one of `queues` may have work; its name, or None after the timeout. Never raises for a lull."""

    @abstractmethod
    def ring(self, queue: str) -> None:
        """Wake one waiter of `queue`, as a task that becomes ready does.

        For a worker that hands work back while it ends: its own waiter may take the marker and do nothing with it.
        """

    # --- time ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def now(self) -> float:
        """The store's time."""

    @abstractmethod
    def promote(self, queue: str, *, limit: int = MAX_BATCH) -> Moved:
        """scheduled, retrying → ready for up to `limit` tasks that are due, oldest due first."""

    @abstractmethod
    def reclaim(self, queue: str, decide: Decide, *, limit: int = 100) -> Moved:
        """running → retrying, dead or another state, as `decide` says, for up to `limit` tasks whose lease ran out.

        Expiry and token are looked at again in the step that writes: a lease that was renewed in between stays.
        One that somebody asked to cancel ends cancelled. A lease without a body is dropped.
        """

    @abstractmethod
    def sweep(self, queue: str, *, limit: int = MAX_BATCH) -> Moved:
        """Drop up to `limit` finished tasks past retention, and what else is past its time in `queue`.

        Forgets old idempotency keys, closed holder names and throughput, finishes purges that were cut off, and
        takes over up to 100 entries of a foreign dead list.
        """

    # --- people -------------------------------------------------------------------------------------------------

    @abstractmethod
    def cancel(self, task_id: str) -> Asked:
        """Waiting → cancelled. Running: asked for; told by heartbeat. Raises TaskGone, or WrongState when finished."""

    @abstractmethod
    def revive(self, task_id: str) -> None:
        """dead, cancelled → ready with attempts reset and errors kept. Raises TaskGone, WrongState."""

    @abstractmethod
    def delete(self, task_id: str) -> Asked:
        """Any state → gone; running: cancelled first. Raises TaskGone."""

    @abstractmethod
    def promote_now(self, task_id: str) -> None:
        """scheduled, retrying → ready, before its time. Raises TaskGone, WrongState."""

    @abstractmethod
    def pause(self, queue: str | None = None) -> None:
        """Stop claims of one queue, or of all. Enqueue, promote and reclaim go on; nothing is lost or counted."""

    @abstractmethod
    def resume(self, queue: str | None = None) -> None:
        """Undo `pause` of the same argument. A queue paused by name stays so when everything is resumed."""

    @abstractmethod
    def purge(self, queue: str, *, include: Iterable[State] = ()) -> int:
        """Drop every ready task of `queue`, and the scheduled and retrying ones where `include` says so.

        Returns how many. What was enqueued after the call began is kept; running tasks go on. Raises ValueError
        for any other state in `include`.
        """

    # --- reading ------------------------------------------------------------------------------------------------

    @abstractmethod
    def find(self, task_id: str) -> Snapshot | None:
        """The task in whatever state, with its result where one is kept; None when the store does not know it."""

    @abstractmethod
    def list_tasks(self, queue: str, state: State, *, cursor: str | None = None, limit: int = 50) -> Page:
        """Tasks of one state: ready in the order of claiming, waiting by due time, finished newest first.

        A page can be shorter than `limit` though more follow: only a `cursor` of None is the end. Raises
        ValueError for a cursor that this method did not give.
        """

    @abstractmethod
    def queues(self) -> list[str]:
        """The names of all queues that were ever used, sorted."""

    @abstractmethod
    def stats(self, queue: str) -> QueueStats:
        """The queue in numbers, of one moment."""

    @abstractmethod
    def throughput(self, queue: str, *, coarse: bool = False) -> list[Bucket]:
        """Events over time, oldest first, without empty stretches: 10 s of the last hour, or 5 min of the last week."""

    @abstractmethod
    def recent(self, queue: str, *, limit: int = RECENT_LIMIT) -> list[Recent]:
        """The newest finished tasks, newest first, for display."""

    # --- workers ------------------------------------------------------------------------------------------------

    @abstractmethod
    def announce(self, worker: WorkerRecord) -> None:
        """Record what a worker says of itself; forgotten after WORKER_GONE_SECONDS. Its queues become known."""

    @abstractmethod
    def retire(self, name: str) -> None:
        """Forget a worker that stops cleanly."""

    @abstractmethod
    def workers(self) -> list[WorkerRecord]:
        """The workers heard of lately, by name."""

    def concerns(self) -> list[str]:
        """What of the store's own settings endangers the promises, in plain words; nothing when all is well."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; a later call opens new ones."""

    # --- one at a time: the same steps, said simply ---------------------------------------------------------------

    def enqueue(self, task: Task, *, delay_seconds: float = 0.0, due_at: float | None = None) -> Receipt:
        """Store one task. Raises DuplicateTask for an id the store knows, IdempotencyConflict for another use of a key.

        A repeat under an idempotency key is no error: its receipt says `created=False`.
        """
        receipt = self.enqueue_many([Enqueue(task=task, delay_seconds=delay_seconds, due_at=due_at)])[0]
        if receipt.conflict:
            raise IdempotencyConflict(receipt.task_id, f"key={task.idempotency_key}")
        if not receipt.created and task.idempotency_key is None:
            raise DuplicateTask(receipt.task_id)
        return receipt

    def claim(
        self,
        queue: str,
        *,
        holder: str,
        token: str | None = None,
        limit: int = 1,
        lease_seconds: float = LEASE_SECONDS,
    ) -> list[Claimed]:
        """ready → running: up to `limit` tasks, none when there are none. Raises HolderClosed."""
        answer = self.exchange(
            queue, holder=holder, token=token or ids.new_token(), want=limit, lease_seconds=lease_seconds
        )
        if answer.standing == "closed":
            raise HolderClosed(f"holder={holder} queue={queue}")
        return answer.claimed

    def settle(self, outcome: Outcome) -> Settled:
        """Settle one outcome. Raises LeaseLost or TaskGone; then nothing has changed."""
        lease = outcome.lease
        answer = self.exchange(lease.queue, holder="", token="", outcomes=[outcome])
        settled = answer.settled.get(lease.task_id, Settled.DONE)
        if settled in REFUSALS:
            raise REFUSALS[settled](lease.task_id)
        return settled

    def ack(self, lease: Lease, *, result: bytes = b"", keep_seconds: float = 0.0, body: bytes = b"") -> Settled:
        """running → succeeded."""
        return self.settle(Succeeded(lease=lease, result=result, keep_seconds=keep_seconds, body=body))

    def retry(self, lease: Lease, body: bytes, *, delay_seconds: float) -> Settled:
        """running → retrying; the attempt is counted in `body`."""
        return self.settle(Failed(lease=lease, body=body, delay_seconds=delay_seconds))

    def snooze(self, lease: Lease, *, delay_seconds: float) -> Settled:
        """running → scheduled; the attempt does not count."""
        return self.settle(Snoozed(lease=lease, delay_seconds=delay_seconds))

    def dead_letter(self, lease: Lease, body: bytes) -> Settled:
        """running → dead."""
        return self.settle(Spent(lease=lease, body=body))

    def release(self, lease: Lease) -> Settled:
        """running → ready, at the head of its queue; the attempt does not count."""
        return self.settle(Released(lease=lease))

    def get(self, task_id: str) -> Snapshot:
        """The task. Raises TaskGone when the store does not know it."""
        snapshot = self.find(task_id)
        if snapshot is None:
            raise TaskGone(task_id)
        return snapshot


def checked_limit(limit: int, *, lowest: int = 1, highest: int = MAX_BATCH) -> int:
    """`limit` itself, or ValueError: no call may take more of the store's time than a batch does."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not lowest <= limit <= highest:
        raise ValueError(f"a limit of {limit!r} is not a whole number from {lowest} to {highest}")
    return limit


def checked_seconds(seconds: float, what: str) -> float:
    """`seconds` itself, or ValueError for what is no finite number: a store would stop over it halfway through."""
    if not isinstance(seconds, (int, float)) or not -FARTHEST_SECONDS < seconds < FARTHEST_SECONDS:
        raise ValueError(f"{what}={shown(seconds)} is not a finite number of seconds")
    return seconds


def checked_entry(entry: Enqueue) -> Enqueue:
    """The entry itself. Raises InvalidName for an id, queue or key that no store can carry, ValueError for a time."""
    valid_task_id(entry.task.id)
    valid_queue(entry.task.queue)
    if entry.task.idempotency_key is not None:
        valid_idempotency_key(entry.task.idempotency_key)
    checked_seconds(entry.delay_seconds, "delay_seconds")
    if entry.due_at is not None:
        checked_seconds(entry.due_at, "due_at")
    return entry


def checked_outcome(outcome: Outcome) -> Outcome:
    """The outcome itself, or ValueError for a time that is none."""
    match outcome:
        case Succeeded(keep_seconds=seconds) | Failed(delay_seconds=seconds) | Snoozed(delay_seconds=seconds):
            checked_seconds(seconds, f"seconds of {type(outcome).__name__}")
    return outcome


def check_claim(holder: str, token: str, lease_seconds: float) -> None:
    """Raises ValueError: a claim needs a holder and a token that is one word, since stores note them side by side."""
    if not holder or token.split() != [token]:
        raise ValueError(f"holder={shown(holder)} token={shown(token)}: a claim needs a name and a token of one word")
    checked_seconds(lease_seconds, "lease_seconds")


REFUSALS: dict[Settled, type[TaskGone] | type[LeaseLost]] = {Settled.GONE: TaskGone, Settled.LOST: LeaseLost}
"""The one table that turns a store's word into an error."""
