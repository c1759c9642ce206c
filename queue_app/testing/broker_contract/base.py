"""What the tests of the contract share: fixtures that a broker's test class fills in, and short ways to say things."""

from collections.abc import Iterator
from typing import Any

import pytest

from queue_app.brokers.base import Broker
from queue_app.core import codec, ids
from queue_app.core.answers import Enqueue
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Failed, Outcome, Spent
from queue_app.core.retention import Retention
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.clock import FakeClock
from queue_app.testing.conservation import assert_conserved

QUEUE = "tasks"
OTHER_QUEUE = "mail"


class Contract:
    """A test class for one broker inherits this and overrides `broker`: a new one over an empty store, every time."""

    ids_are_unique_across_queues = True
    """A cluster sees one queue at a time: there an id may be taken once in each."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        """The store's time."""
        return FakeClock()

    @pytest.fixture
    def retention(self) -> Retention:
        """How long things are kept; a test that needs another one parametrizes it."""
        return Retention()

    @pytest.fixture
    def broker(self, clock: FakeClock, retention: Retention) -> Broker:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def conserved(self, broker: Broker) -> Iterator[None]:
        """Whatever a test did: every task is in one place, and lists, counts and `find` agree."""
        yield
        assert_conserved(broker)


def new_task(**fields: Any) -> Task:
    """A task of the default queue."""
    return Task(**{"id": ids.new_id(), "task_type": "send_email", **fields})


def seed(broker: Broker, count: int = 1, *, due_in: float = 0.0, **fields: Any) -> list[str]:
    """Enqueue so many tasks; their ids, in order."""
    entries = [Enqueue(task=new_task(**fields), delay_seconds=due_in) for _ in range(count)]
    return [receipt.task_id for receipt in broker.enqueue_many(entries)]


def claim(broker: Broker, count: int, *, queue: str = QUEUE, holder: str = "w:1", **how: Any) -> list[Claimed]:
    """Claim exactly so many tasks."""
    claimed = broker.claim(queue, holder=holder, limit=count, **how)
    assert len(claimed) == count
    return claimed


def claim_one(broker: Broker, **how: Any) -> Claimed:
    """Claim one task."""
    (claimed,) = claim(broker, 1, **how)
    return claimed


def running_one(broker: Broker, *, lease_seconds: float = 10.0, **fields: Any) -> Claimed:
    """A task that runs."""
    (task_id,) = seed(broker, **fields)
    claimed = claim_one(broker, queue=fields.get("queue", QUEUE), lease_seconds=lease_seconds)
    assert claimed.lease.task_id == task_id
    return claimed


def dead_one(broker: Broker, **fields: Any) -> str:
    """A task that is dead."""
    claimed = running_one(broker, **fields)
    broker.dead_letter(claimed.lease, attempted(claimed))
    return claimed.lease.task_id


def cancelled_one(broker: Broker, **fields: Any) -> str:
    """A task that was cancelled while it waited for its time."""
    (task_id,) = seed(broker, due_in=60.0, **fields)
    broker.cancel(task_id)
    return task_id


def kept_one(broker: Broker, *, keep_seconds: float = 60.0, result: bytes = b"42", **fields: Any) -> str:
    """A task that succeeded and whose record is kept."""
    claimed = running_one(broker, **fields)
    broker.ack(claimed.lease, result=result, keep_seconds=keep_seconds, body=attempted(claimed))
    return claimed.lease.task_id


def retrying_one(broker: Broker, *, delay_seconds: float = 30.0, **fields: Any) -> str:
    """A task that failed and waits for its next attempt."""
    claimed = running_one(broker, **fields)
    broker.retry(claimed.lease, attempted(claimed), delay_seconds=delay_seconds)
    return claimed.lease.task_id


def attempted(claimed: Claimed) -> bytes:
    """The body with the present attempt counted."""
    return codec.amend(claimed.body, attempts=claimed.task.attempt)


def fails(claimed: Claimed) -> Outcome:
    """A reclaimer's decision: one more attempt, due in 5 s."""
    return Failed(lease=claimed.lease, body=attempted(claimed), delay_seconds=5.0)


def is_spent(claimed: Claimed) -> Outcome:
    """A reclaimer's decision: dead."""
    return Spent(lease=claimed.lease, body=attempted(claimed))


def ids_of(claimed: list[Claimed]) -> list[str]:
    """The ids, in order."""
    return [each.lease.task_id for each in claimed]


def listed(broker: Broker, state: State, queue: str = QUEUE) -> list[str]:
    """The ids of one state as a page shows them."""
    return [snapshot.id for snapshot in broker.list_tasks(queue, state).snapshots]


def counts(broker: Broker, queue: str = QUEUE) -> dict[str, int]:
    """How many tasks are in each state that has any. Compared whole: a task that strayed elsewhere shows."""
    found = broker.stats(queue).counts
    assert set(found) == set(State)
    return {state.value: count for state, count in found.items() if count}


def totals(broker: Broker, queue: str = QUEUE) -> dict[str, int]:
    """Every event that was ever counted."""
    return broker.stats(queue).totals


def picture(broker: Broker) -> dict[str, Any]:
    """Everything that can be seen of the default queue, to be compared before and after."""
    listed_ids = {state: listed(broker, state) for state in State}
    found = [broker.find(task_id) for ids_listed in listed_ids.values() for task_id in ids_listed]
    return {
        "queues": broker.queues(),
        "stats": broker.stats(QUEUE),
        "listed": listed_ids,
        "found": found,
        "recent": broker.recent(QUEUE),
        "throughput": broker.throughput(QUEUE),
    }
