"""The contract, kept in memory."""

import threading
import time
from collections import Counter

import pytest

from queue_app.brokers.base import Broker
from queue_app.brokers.memory import MemoryBroker
from queue_app.core.answers import Enqueue
from queue_app.core.ids import new_id, new_token
from queue_app.core.outcomes import Succeeded
from queue_app.core.retention import Retention
from queue_app.core.task import Task
from queue_app.testing.broker_contract import BrokerContract
from queue_app.testing.clock import FakeClock


class TestMemory(BrokerContract):
    @pytest.fixture
    def broker(self, clock: FakeClock, retention: Retention) -> Broker:
        return MemoryBroker(clock=clock, retention=retention)


def test_no_two_parts_of_the_contract_say_the_same_sentence():
    sentences = Counter(name for part in BrokerContract.__mro__ for name in vars(part) if name.startswith("test_"))

    assert [name for name, times in sentences.items() if times > 1] == []


def test_threads_that_drain_a_queue_together_run_each_task_once():
    broker, runs = MemoryBroker(), Counter()
    broker.enqueue_many([Enqueue(task=Task(id=new_id(), task_type="x")) for _ in range(1_000)])

    def drain(holder):
        outcomes = []
        while True:
            answer = broker.exchange("tasks", holder=holder, token=new_token(), outcomes=outcomes, want=3)
            runs.update(claimed.lease.task_id for claimed in answer.claimed)
            outcomes = [Succeeded(lease=claimed.lease) for claimed in answer.claimed]
            if not outcomes:
                return

    threads = [threading.Thread(target=drain, args=(f"w:{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(runs), set(runs.values())) == (1_000, {1})
    assert broker.stats("tasks").totals == {"enqueued": 1_000, "succeeded": 1_000}
    assert sum(broker.stats("tasks").counts.values()) == 0


def test_a_thread_may_ask_the_broker_anything_while_another_waits():
    broker = MemoryBroker()
    woken_by = []
    waiter = threading.Thread(target=lambda: woken_by.append(broker.wait(["tasks"], 30.0)))
    waiter.start()

    broker.stats("tasks")
    broker.enqueue(Task(id="t1", task_type="x"))
    waiter.join(10.0)

    assert woken_by == ["tasks"]


def test_without_a_clock_the_time_is_the_machines():
    broker = MemoryBroker()

    assert abs(broker.now() - time.time()) < 60
