"""B34: larger priorities first, the oldest first among equals, and no queue starved but by strict order."""

import threading
import time
from collections import Counter

import pytest

from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow

SIZES = [
    pytest.param(6.0, id="short"),
    pytest.param(60.0, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(300)]),
]


def test_b34_priorities_decide_and_then_age(rig: Rig) -> None:
    priorities = [number - 100 for number in range(201)]
    rig.random.shuffle(priorities)
    # Ties, also at both ends.
    priorities += [100, -100, 0, 100, -100, 0, 7, 7]
    ids = [rig.enqueue("work", priority=priority) for priority in priorities]
    expected = [task_id for task_id, _ in sorted(zip(ids, priorities, strict=True), key=lambda pair: -pair[1])]

    worker = rig.workers.start("--concurrency", "1", "--batch-size", "10", "--burst", wait=False)

    assert worker.wait(60) == 0
    assert [entry.task_id for entry in rig.ledger.entries("start")] == expected
    rig.check_conservation()


def test_b34_nothing_waits_behind_a_running_task_while_another_worker_is_idle(rig: Rig) -> None:
    for _ in range(2):
        rig.workers.start("--concurrency", "1", "--batch-size", "10")

    slow, *quick = rig.enqueue_many([("work", (3.0,), 0.0, {})] + [("work", (), 0.0, {})] * 5)

    rig.wait_for_end(quick, 1.0)
    ((busy,), *others) = [rig.ledger.by_task("start")[each] for each in (slow, *quick)]
    assert {entry.pid for (entry,) in others}.isdisjoint({busy.pid})
    assert {entry.attempt for (entry,) in others} == {1}


def test_b34_a_high_one_is_next_when_all_slots_are_held_by_long_low_ones(rig: Rig) -> None:
    rig.workers.start("--concurrency", "2", "--batch-size", "4")
    rig.enqueue_many([("work", (0.6,), 0.0, {"priority": -10})] * 8)
    until(lambda: len(rig.ledger.started()) == 2, "both slots are held")

    high = rig.enqueue("work", priority=10)

    rig.wait_for_end([high], 3)
    order = [entry.task_id for entry in rig.ledger.entries("start")]
    # Both slots are free at about the same time.
    assert order.index(high) <= 3
    (start,) = rig.ledger.by_task("start")[high]
    assert start.attempt == 1


def full_load(rig: Rig, queue: str, over: threading.Event) -> threading.Thread:
    """Keep `queue` from ever being empty."""

    def send() -> None:
        while not over.wait(0.05):
            waiting = sum(rig.unfinished_of(queue).values())
            if waiting < 100:
                rig.enqueue_many([("work", (0.005,), 0.0, {"queue": queue})] * 100)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("seconds", SIZES)
@pytest.mark.parametrize("strict", [False, True], ids=["weighted", "strict"])
def test_b34_a_low_queue_has_its_share_and_starves_only_by_strict_order(rig: Rig, strict: bool, seconds: float) -> None:
    over = threading.Event()
    rig.enqueue_many([("work", (0.005,), 0.0, {"queue": "high"})] * 200)
    low = rig.enqueue_many([("work", (0.005,), 0.0, {"queue": "low"})] * 10)
    sender = full_load(rig, "high", over)
    try:
        rig.workers.start("--concurrency", "1", "--queues", "high:9,low:1", *(["--strict"] if strict else []))
        time.sleep(seconds / 2)
        until(lambda: len(rig.ledger.started()) >= 110, "a hundred high ones and what low ones there were", seconds)
    finally:
        over.set()
        sender.join()

    first = [entry.task_id for entry in rig.ledger.entries("start")][:110]
    served = Counter("low" if task_id in low else "high" for task_id in first)
    if strict:
        assert served["low"] == 0
    else:
        assert 8 <= served["low"] <= 10, "one in ten"
    rig.wait_for_end(rig.enqueued, 60)
    rig.wait_until_settled()
    assert rig.workers.stop() == [0]
    rig.check_conservation()
