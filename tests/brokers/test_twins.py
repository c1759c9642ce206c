"""Two brokers, one history: the same random calls must get the same answers and leave the same store behind.

`FORGEQUEUE_TWINS=deep` looks for much longer. One thing is left out since the contract leaves it open: where a plain
ready task stands again that was cancelled or deleted and came back while its old entry was still in the list.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from queue_app.brokers.memory import MemoryBroker
from queue_app.brokers.redis import RedisBroker, connect
from queue_app.core import codec, ids, policy
from queue_app.core.answers import Enqueue, WorkerRecord
from queue_app.core.backoff import Backoff
from queue_app.core.errors import ForgeQueueError
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Cancelled, Failed, Outcome, Released, Snoozed, Spent, Succeeded
from queue_app.core.retention import Retention
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.clock import FakeClock

IS_DEEP = os.environ.get("FORGEQUEUE_TWINS") == "deep"
EXAMPLES, STEPS = (3_000, 80) if IS_DEEP else (70, 50)

QUEUES = ("a", "b")
IDS = tuple(f"t{number}" for number in range(8))
# Enqueued as the client does, with the key in the id.
KEYED_IDS = tuple(ids.keyed_id(queue, "client", generation) for queue in QUEUES for generation in range(2))
ALL_IDS = (*IDS, *KEYED_IDS)
HOLDERS = tuple(f"h{number}" for number in range(4))
RETENTION = Retention(cancelled_seconds=40.0, dead_seconds=60.0, idempotency_seconds=50.0)
LEASES_REMEMBERED = 12
# No jitter: both must decide the same.
BACKOFF = Backoff(kind="linear", base=2.0, cap=8.0, jitter=0.0)

# What is drawn more often is named more often: most of the life is in one queue.
queues = st.sampled_from(("a", "a", "a", "b"))
some_ids = st.sampled_from(IDS)
holders = st.sampled_from(HOLDERS)
# Names that are closed for good: mostly one that then stays out of the way of the others.
doomed = st.sampled_from((*HOLDERS, "h3", "h3", "h3", "h3"))
# Quarters of a second are exact in every store's numbers.
seconds = st.sampled_from((0.0, 0.25, 2.0, 5.0, 30.0))
priorities = st.sampled_from((0, 0, 0, 0, 1, 7, -1, -100, 100))
tokens = st.sampled_from(("new", "new", "new", "new", "last", "k0"))


@st.composite
def entries(draw: st.DrawFn) -> Enqueue:
    """A task: in one of two queues, under an id that may be taken, now or later."""
    key = draw(st.sampled_from((None, None, None, "key")))
    task = Task(
        id=draw(some_ids),
        task_type="t",
        queue=draw(queues),
        payload=draw(st.sampled_from((b"1", b"2"))),
        max_retries=draw(st.sampled_from((-1, 1, 0))),
        priority=draw(priorities),
        idempotency_key=key,
        headers={"forgequeue-key-generation": draw(st.sampled_from("01"))} if key else {},
        backoff=BACKOFF,
    )
    due = draw(st.sampled_from(("now", "now", "now", "now", "later", "at", "past")))
    if due == "later":
        return Enqueue(task=task, delay_seconds=draw(seconds))
    if due == "now":
        return Enqueue(task=task)
    return Enqueue(task=task, due_at=FakeClock().now() + (draw(seconds) if due == "at" else -5.0))


KINDS = ("ack", "keep", "fail", "snooze", "spend", "release", "cancel")
# Which lease, counted from the newest, and what became of it.
plan = st.tuples(st.integers(0, LEASES_REMEMBERED - 1), st.sampled_from(KINDS), seconds, st.booleans())
plans = st.lists(plan, max_size=4)


def outcome_of(claimed: Claimed, kind: str, delay: float, *, has_note: bool) -> Outcome:
    lease, task = claimed.lease, claimed.task
    note = policy.note(task, delay) if has_note else b""
    body = codec.amend(claimed.body, attempts=task.attempt)
    match kind:
        case "ack":
            return Succeeded(lease=lease, note=note, result=b"dropped")
        case "keep":
            return Succeeded(lease=lease, note=note, keep_seconds=delay, result=b"[1]", body=body)
        case "fail":
            return Failed(lease=lease, body=body, delay_seconds=delay)
        case "snooze":
            return Snoozed(lease=lease, delay_seconds=delay)
        case "spend":
            return Spent(lease=lease, body=body, note=note)
        case "release":
            return Released(lease=lease)
    return Cancelled(lease=lease, body=body, note=note)


class Twins(RuleBasedStateMachine):
    """Every rule is one call; every invariant a way to look at the whole store."""

    url = ""

    @initialize()
    def begin(self) -> None:
        self.clock = FakeClock()
        self.connection = connect(self.url)
        self.connection.command("FLUSHALL")
        self.memory = MemoryBroker(clock=self.clock, retention=RETENTION)
        self.redis = RedisBroker(self.connection, clock=self.clock, retention=RETENTION)
        self.leases: list[Claimed] = []
        self.last_token = dict.fromkeys(HOLDERS, "k0")
        self.tokens_made = 0
        self.last_call: Callable[[Any], Any] | None = None
        self.begin_in_the_middle()

    def begin_in_the_middle(self) -> None:
        """Some tasks in line and some that run: most calls have something to do from the first one on."""
        priorities = (0, 0, 5, 0, -5, 0)
        tasks = [
            Task(id=task_id, task_type="t", queue="a", priority=priority, max_retries=1, backoff=BACKOFF)
            for task_id, priority in zip(IDS, priorities, strict=False)
        ]
        self.both(lambda broker: broker.enqueue_many([Enqueue(task=task) for task in tasks]))
        self.claim("a", "h0", 3, 5.0)

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()

    def both(self, call: Callable[[Any], Any], *, told: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """Make the call twice, and hold the answers against each other."""
        answer, redis_answer = _answer(call, self.memory), _answer(call, self.redis)
        assert told(redis_answer) == told(answer)
        return answer

    def make(self, call: Callable[[Any], Any]) -> Any:
        self.last_call = call
        return self.both(call)

    # --- calls ----------------------------------------------------------------------------------------------------

    @rule(batch=st.lists(entries(), min_size=1, max_size=4))
    def enqueue(self, batch: list[Enqueue]) -> None:
        batch = [entry for entry in batch if entry.task.priority != 0 or not self.has_old_entry(entry.task)]

        self.make(lambda broker: broker.enqueue_many(batch))

    @rule(queue=queues, payload=st.sampled_from((b"1", b"1", b"2")))
    def enqueue_as_the_client_does(self, queue: str, payload: bytes) -> None:
        generation = self.both(lambda broker: broker.key_generation(queue, "client"))
        task = Task(
            id=ids.keyed_id(queue, "client", generation),
            task_type="t",
            queue=queue,
            payload=payload,
            idempotency_key="client",
            headers={"forgequeue-key-generation": str(generation)},
            priority=1,
            backoff=BACKOFF,
        )

        self.make(lambda broker: broker.enqueue(task))

    @rule(queue=queues, holder=holders, token=tokens, plan=plans, want=st.integers(0, 4), lease=seconds)
    def exchange(self, queue: str, holder: str, token: str, plan: list[Any], want: int, lease: float) -> None:
        outcomes, its_token = self.outcomes(plan), self.token(holder, token)

        answer = self.make(
            lambda broker: broker.exchange(
                queue, holder=holder, token=its_token, outcomes=outcomes, want=want, lease_seconds=lease
            )
        )

        self.remember(answer.claimed)

    @rule(queue=queues, holder=holders, want=st.integers(1, 4), lease=st.sampled_from((5.0, 30.0)))
    def claim(self, queue: str, holder: str, want: int, lease: float) -> None:
        token = self.token(holder, "new")

        claimed = self.make(
            lambda broker: broker.claim(queue, holder=holder, token=token, limit=want, lease_seconds=lease)
        )

        self.remember(claimed if isinstance(claimed, list) else [])

    @precondition(lambda self: self.leases)
    @rule(plan=plan)
    def settle(self, plan: Any) -> None:
        (outcome,) = self.outcomes([plan])

        self.make(lambda broker: broker.settle(outcome))

    @precondition(lambda self: self.last_call)
    @rule()
    def repeat_the_last_call(self) -> None:
        self.both(self.last_call)  # type: ignore[arg-type]

    @rule(queue=queues, names=st.lists(holders, max_size=3), lease=seconds)
    def heartbeat(self, queue: str, names: list[str], lease: float) -> None:
        self.make(lambda broker: broker.heartbeat(queue, names, lease_seconds=lease))

    @rule(queue=queues, name=doomed, plan=plans)
    def abandon(self, queue: str, name: str, plan: list[Any]) -> None:
        outcomes = self.outcomes(plan)

        self.make(lambda broker: broker.abandon(queue, [name], outcomes))

    @rule(queue=queues, by=seconds, limit=st.sampled_from((1, 1_000)))
    def promote(self, queue: str, by: float, limit: int) -> None:
        self.clock.advance(by)

        self.make(lambda broker: broker.promote(queue, limit=limit))

    @rule(queue=queues, by=seconds, limit=st.sampled_from((1, 100)))
    def reclaim(self, queue: str, by: float, limit: int) -> None:
        self.clock.advance(by)
        at = self.clock.now()

        self.make(lambda broker: broker.reclaim(queue, lambda each: policy.after_lost_worker(each, at=at), limit=limit))

    @rule(queue=queues, by=seconds, limit=st.sampled_from((4, 1_000)))
    def sweep(self, queue: str, by: float, limit: int) -> None:
        self.clock.advance(by)

        self.make(lambda broker: broker.sweep(queue, limit=limit))

    @rule(verb=st.sampled_from(("cancel", "delete", "promote_now")), which=st.integers(0, 99))
    def ask(self, verb: str, which: int) -> None:
        task_id = self.task_id(which)

        self.make(lambda broker: getattr(broker, verb)(task_id))

    @rule(which=st.integers(0, 99))
    def revive(self, which: int) -> None:
        task_id = self.task_id(which, State.DEAD, State.CANCELLED)
        snapshot = self.memory.find(task_id)
        if snapshot is not None and snapshot.task.priority == 0 and self.has_old_entry(snapshot.task):
            return

        self.both(lambda broker: broker.revive(task_id))

    @rule(queue=st.sampled_from((*QUEUES, None)), verb=st.sampled_from(("pause", "resume", "resume", "resume")))
    def pause_or_resume(self, queue: str | None, verb: str) -> None:
        self.make(lambda broker: getattr(broker, verb)(queue))

    @rule(queue=queues, include=st.lists(st.sampled_from((State.SCHEDULED, State.RETRYING)), max_size=2))
    def purge(self, queue: str, include: list[State]) -> None:
        self.make(lambda broker: broker.purge(queue, include=include))

    @rule(name=st.sampled_from("xy"), queue=st.sampled_from((*QUEUES, "c", None)))
    def announce_or_retire(self, name: str, queue: str | None) -> None:
        if queue is None:
            self.make(lambda broker: broker.retire(name))
            return
        record = WorkerRecord(
            name=name, host="host", pid=1, version="1", queues=(queue,), concurrency=1, started_at=0.0
        )

        self.make(lambda broker: broker.announce(record))

    @rule(by=st.sampled_from((0.25, 2.0, 5.0, 10.0, 31.0, 61.0, 3_700.0)))
    def advance(self, by: float) -> None:
        self.clock.advance(by)

    # --- looks ----------------------------------------------------------------------------------------------------

    @invariant()
    def look(self) -> None:
        for queue in QUEUES:
            self.look_at(queue)
        for task_id in ALL_IDS:
            self.both(lambda broker, task_id=task_id: broker.find(task_id))
        self.both(lambda broker: broker.queues())
        self.both(lambda broker: broker.workers())

    def look_at(self, queue: str) -> None:
        self.both(lambda broker: broker.stats(queue))
        for state in State:
            self.both(lambda broker, state=state: broker.list_tasks(queue, state))
        self.both(lambda broker: broker.held(queue, HOLDERS))
        self.both(lambda broker: broker.key_generation(queue, "key"))
        self.both(lambda broker: broker.throughput(queue))
        self.both(lambda broker: broker.throughput(queue, coarse=True))
        # What finished in one call has no order.
        self.both(lambda broker: broker.recent(queue), told=lambda lines: sorted(map(repr, lines)))

    # --- helpers --------------------------------------------------------------------------------------------------

    def has_old_entry(self, task: Task) -> bool:
        """Whether an entry that no longer counts stands in the list: only there an old place can be taken again."""
        return bool(self.connection.command("HEXISTS", f"queue:{task.queue}:tombstones", task.id))

    def token(self, holder: str, which: str) -> str:
        if which == "new":
            self.tokens_made += 1
            self.last_token[holder] = f"n{self.tokens_made}"
        return "k0" if which == "k0" else self.last_token[holder]

    def remember(self, claimed: list[Claimed]) -> None:
        self.leases = (claimed + self.leases)[:LEASES_REMEMBERED]

    def outcomes(self, plan: list[Any]) -> list[Outcome]:
        if not self.leases:
            return []
        found = [(self.leases[index % len(self.leases)], *rest) for index, *rest in plan]
        return [outcome_of(claimed, kind, delay, has_note=noted) for claimed, kind, delay, noted in found]

    def task_id(self, which: int, *states: State) -> str:
        """A task that is there, in one of `states` if any are named; at times just any id."""
        known = [task_id for task_id in ALL_IDS if self.is_there(task_id, states)]
        return known[which % len(known)] if known and which % 10 else IDS[which % len(IDS)]

    def is_there(self, task_id: str, states: tuple[State, ...]) -> bool:
        snapshot = self.memory.find(task_id)
        return snapshot is not None and (not states or snapshot.state in states)


def _answer(call: Callable[[Any], Any], broker: Any) -> Any:
    try:
        return call(broker)
    except (ForgeQueueError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.timeout(0 if IS_DEEP else 300)
def test_memory_and_the_embedded_engine_are_twins(engine_url: str) -> None:
    class OnThisEngine(Twins):
        url = engine_url

    run_state_machine_as_test(
        OnThisEngine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )
