"""Many clients at once on one real engine: whatever they do to each other, every key agrees in the end."""

import random
import threading
import time
from collections import Counter

import pytest

from queue_app.brokers.redis import RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.core import policy
from queue_app.core.answers import Enqueue
from queue_app.core.errors import ForgeQueueError
from queue_app.core.ids import new_id, new_token
from queue_app.core.outcomes import Released, Spent, Succeeded
from queue_app.core.states import State
from queue_app.core.task import Task

SECONDS = 2.0


@pytest.fixture
def connection(engine_url):
    connection = connect(engine_url)
    connection.command("FLUSHALL")
    yield connection
    connection.close()


@pytest.fixture
def broker(connection):
    return RedisBroker(connection)


def tasks(count, queue="tasks", **fields):
    return [Enqueue(task=Task(**{"id": new_id(), "task_type": "t", "queue": queue} | fields)) for _ in range(count)]


def together(*jobs):
    """Run each job on a thread of its own until all have ended; re-raise what one of them raised."""
    errors = []

    def guarded(job):
        try:
            job()
        except (AssertionError, ForgeQueueError) as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def until(deadline):
    while time.monotonic() < deadline:
        yield


class Churn:
    """Clients that enqueue, run, and interfere, each with its own chance."""

    def __init__(self, broker, seed):
        self.broker = broker
        self.rng = random.Random(seed)
        self.ids = []
        self.acked = Counter()
        self.deadline = time.monotonic() + SECONDS

    def produce(self):
        for _ in until(self.deadline):
            entries = tasks(self.rng.randint(1, 20), priority=self.rng.choice([0, 0, 0, 5, -5]), max_retries=2)
            entries += [Enqueue(task=each.task, delay_seconds=0.05) for each in tasks(2)]
            self.ids += [receipt.task_id for receipt in self.broker.enqueue_many(entries)]

    def work(self, holder):
        def run():
            outcomes = []
            for _ in until(self.deadline):
                answer = self.exchange(holder, outcomes, want=16, lease_seconds=0.2)
                outcomes = [self.outcome(claimed) for claimed in answer.claimed]
                self.broker.promote("tasks")
                time.sleep(0.02)

        return run

    def work_late(self):
        """A worker that settles after its leases have run out, most of the time."""
        outcomes = []
        for number in range(1_000_000):
            if time.monotonic() > self.deadline:
                return
            answer = self.exchange(f"late:{number}", outcomes, want=5, lease_seconds=0.05)
            time.sleep(self.rng.choice([0.0, 0.1, 0.3]))
            outcomes = [self.outcome(claimed) for claimed in answer.claimed]

    def exchange(self, holder, outcomes, **how):
        answer = self.broker.exchange("tasks", holder=holder, token=new_token(), outcomes=outcomes, **how)
        succeeded = [outcome.lease.task_id for outcome in outcomes if isinstance(outcome, Succeeded)]
        self.acked.update(task_id for task_id in succeeded if task_id not in answer.settled)
        return answer

    def outcome(self, claimed):
        fate = self.rng.random()
        if fate < 0.6:
            return Succeeded(lease=claimed.lease, keep_seconds=self.rng.choice([0.0, 5.0]), result=b"1")
        if fate < 0.7:
            return Released(lease=claimed.lease)
        if fate < 0.8:
            time.sleep(0.01)
            return Spent(lease=claimed.lease, body=claimed.body)
        return policy.after_lost_worker(claimed, at=0.0)

    def interfere(self):
        verbs = [self.broker.cancel, self.broker.delete, self.broker.revive, self.broker.promote_now]
        for _ in until(self.deadline):
            if self.ids:
                try:
                    self.rng.choice(verbs)(self.rng.choice(self.ids[-500:]))
                except ForgeQueueError:
                    continue

    def maintain(self):
        for _ in until(self.deadline):
            self.broker.reclaim("tasks", lambda claimed: policy.after_lost_worker(claimed, at=0.0))
            self.broker.sweep("tasks")
            self.broker.heartbeat("tasks", ["w:1"], lease_seconds=0.2)
            if self.rng.random() < 0.1:
                self.broker.abandon("tasks", [f"gone:{self.rng.randint(0, 9)}"])

    def purge(self):
        """In the first half only: it would sweep away what the others did wrong."""
        for _ in until(self.deadline - SECONDS / 2):
            time.sleep(0.2)
            self.broker.purge("tasks", include=self.rng.choice([[], [State.SCHEDULED], [State.RETRYING]]))


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_many_clients_do_at_once_every_key_agrees_afterwards(broker, connection, seed):
    churn = Churn(broker, seed)

    together(
        churn.produce,
        churn.work("w:1"),
        churn.work("w:2"),
        churn.work_late,
        churn.work_late,
        churn.interfere,
        churn.interfere,
        churn.maintain,
        churn.purge,
    )

    assert inspect(connection) == []
    stats = broker.stats("tasks")
    listed = {state: count_listed(broker, state) for state in State}
    assert listed == stats.counts
    assert stats.totals["enqueued"] == len(churn.ids)
    assert stats.totals["succeeded"] == len(churn.acked)
    assert set(churn.acked.values()) == {1}


def count_listed(broker, state):
    found, cursor = 0, None
    while True:
        page = broker.list_tasks("tasks", state, cursor=cursor, limit=1000)
        found += len(page.snapshots)
        cursor = page.cursor
        if cursor is None:
            return found


def test_no_task_is_held_by_two_at_once(broker):
    broker.enqueue_many(tasks(2_000))
    runs = Counter()

    def drain(holder):
        outcomes = []
        while True:
            answer = broker.exchange("tasks", holder=holder, token=new_token(), outcomes=outcomes, want=7)
            runs.update(claimed.lease.task_id for claimed in answer.claimed)
            outcomes = [Succeeded(lease=claimed.lease) for claimed in answer.claimed]
            if not outcomes:
                return

    together(*[lambda holder=f"w:{number}": drain(holder) for number in range(6)])

    assert len(runs) == 2_000
    assert set(runs.values()) == {1}
    assert sum(broker.stats("tasks").counts.values()) == 0


class TestPurgeUnderLoad:
    """What was enqueued before a purge began is gone, what came after its answer stays, other queues are untouched."""

    def test_what_came_after_the_answer_stays(self, broker, connection):
        kept, stop = [], threading.Event()
        after = threading.Event()

        def produce():
            while not stop.is_set():
                is_after = after.is_set()
                receipts = broker.enqueue_many(tasks(5))
                if is_after:
                    kept.extend(receipt.task_id for receipt in receipts)

        broker.enqueue_many(before := tasks(3_000))
        neighbours = [
            broker.enqueue_many(tasks(10, queue=queue)) for queue in ("tasks.b", "task", "a:b".replace(":", "-"))
        ]
        producer = threading.Thread(target=produce)
        producer.start()
        broker.purge("tasks")
        after.set()
        time.sleep(0.2)
        stop.set()
        producer.join()

        assert all(broker.find(each.task.id) is None for each in before[::100])
        assert kept
        assert all(broker.find(task_id).state is State.READY for task_id in kept)
        assert all(broker.find(receipt.task_id) for receipts in neighbours for receipt in receipts)
        assert inspect(connection) == []

    def test_two_at_once_count_each_task_once(self, broker, connection):
        broker.enqueue_many(tasks(5_000))
        counts = []

        together(*[lambda: counts.append(broker.purge("tasks"))] * 2)

        assert sum(counts) == 5_000
        assert sum(broker.stats("tasks").counts.values()) == 0
        assert inspect(connection) == []

    def test_running_tasks_finish(self, broker, connection):
        broker.enqueue_many(tasks(3))
        (claimed,) = broker.claim("tasks", holder="w:1", limit=1)

        assert broker.purge("tasks") == 2

        broker.ack(claimed.lease)
        assert inspect(connection) == []
