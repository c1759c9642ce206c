"""B08: nothing is lost, counted or started twice when a worker is told to stop, at whatever moment."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from queue_app.core.states import State
from tests.process.rig import LEASE_SECONDS, Rig, until

pytestmark = pytest.mark.slow

SIZES = [
    pytest.param(6, 60.0, id="short"),
    pytest.param(100, 200.0, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(1_200)]),
]


@contextmanager
def arriving(rig: Rig, per_second: float, seconds_each: float) -> Iterator[None]:
    """Tasks arrive at this rate until the block ends."""
    over = threading.Event()

    def send() -> None:
        beat = time.monotonic()
        while not over.is_set():
            rig.enqueue("work", seconds_each)
            beat += 1 / per_second
            over.wait(max(beat - time.monotonic(), 0))

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


@pytest.mark.parametrize(("rounds", "per_second"), SIZES)
def test_b08_workers_are_told_to_stop_at_random_moments(rig: Rig, rounds: int, per_second: float) -> None:
    crowd = [rig.workers.start("--concurrency", "8") for _ in range(2)]
    killed, codes = 0, []

    with arriving(rig, per_second, 0.02):
        for number in range(rounds):
            time.sleep(rig.random.uniform(0.05, 0.5))
            leaving = crowd.pop(0)
            crowd.append(rig.workers.start("--concurrency", "8"))
            leaving.send(signal.SIGTERM)
            match number % 3:
                case 0:
                    codes.append(leaving.wait())
                case 1:
                    time.sleep(rig.random.uniform(0, 0.1))
                    leaving.send(signal.SIGKILL)
                    killed += leaving.wait() != 0
                case 2:
                    time.sleep(rig.random.uniform(0, 0.05))
                    leaving.send(signal.SIGTERM)
                    codes.append(leaving.wait())

    rig.wait_for_end(rig.enqueued, 60)
    rig.wait_until_settled(20)
    assert set(codes) == {0}
    assert set(rig.workers.stop()) == {0}
    rig.check_conservation()
    attempts = [entry for entries in rig.ledger.by_task("end").values() for entry in entries if entry.attempt > 1]
    assert len(attempts) <= 8 * killed, "only what a killed worker ran is counted"


def test_b08_with_grace_enough_the_task_ends_and_no_new_one_starts(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "1", "--drain-timeout", "5")
    running, waiting = rig.enqueue("work", 1.0), rig.enqueue("work", 0.0)
    until(lambda: running in rig.ledger.started(), "the task began")

    worker.send(signal.SIGTERM)

    assert worker.wait() == 0
    assert rig.ledger.ended() == {running}
    assert waiting not in rig.ledger.started()
    assert rig.broker.get(waiting).state is State.READY
    assert rig.broker.find(running) is None
    rig.check_conservation()


def test_b08_with_grace_too_short_the_task_is_handed_back_at_once_uncounted(rig: Rig) -> None:
    leaving = rig.workers.start("--concurrency", "1", "--drain-timeout", "0.2", "--lease", "30")
    task_id = rig.enqueue("work", 2.0, max_retries=-1)
    until(lambda: task_id in rig.ledger.started(), "the task began")
    rig.workers.start("--concurrency", "1")

    leaving.send(signal.SIGTERM)

    assert leaving.wait() == 0
    until(lambda: len(rig.ledger.entries("start")) == 2, "it began elsewhere", 5)
    first, second = rig.ledger.entries("start")
    assert leaving.signalled_at is not None
    assert second.at - leaving.signalled_at < 0.2 + 1.0
    assert second.pid != first.pid
    assert second.attempt == 1
    rig.wait_for_end([task_id], 10)
    rig.wait_until_settled()
    assert set(rig.workers.stop()) == {0}
    rig.check_conservation()


def test_b08_a_second_signal_ends_at_once(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "1", "--drain-timeout", "60")
    task_id = rig.enqueue("work", 30.0)
    until(lambda: task_id in rig.ledger.started(), "the task began")
    worker.send(signal.SIGTERM)
    worker.wait_for("worker drains")
    began = time.monotonic()

    worker.send(signal.SIGTERM)

    assert worker.wait() == 0
    assert time.monotonic() - began < 2.0
    assert rig.broker.get(task_id).state is State.READY
    assert rig.broker.get(task_id).task.attempts == 0


def test_b08_what_was_prefetched_is_released_at_once(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "1", "--batch-size", "5", "--drain-timeout", "10")
    ids = [rig.enqueue("work", 1.0)]
    until(lambda: bool(rig.ledger.started()), "the first began")
    ids += [rig.enqueue("work") for _ in range(4)]

    worker.send(signal.SIGTERM)

    worker.wait_for("worker drains")
    until(lambda: rig.unfinished() == {State.READY: 4, State.RUNNING: 1}, "the others are ready again", 1.0)
    assert worker.wait() == 0


def test_a_worker_that_is_killed_loses_nothing(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "2")
    ids = [rig.enqueue("work", 30.0), rig.enqueue("work", 30.0)]
    until(lambda: rig.ledger.started() == set(ids), "both began")

    worker.kill_group()
    worker.wait()
    rig.workers.start("--concurrency", "2")

    until(lambda: len(rig.ledger.entries("start")) == 4, "both began again", 3 * LEASE_SECONDS + 2)
    assert {entry.attempt for entry in rig.ledger.entries("start")[2:]} == {2}


def test_sigint_is_as_good_as_sigterm(rig: Rig) -> None:
    worker = rig.workers.start()

    worker.send(signal.SIGINT)

    assert worker.wait(5) == 0
    assert "Traceback" not in worker.output


def test_sigterm_while_the_engine_is_away(rig: Rig) -> None:
    worker = rig.workers.start("--drain-timeout", "0.5")
    until(lambda: bool(rig.broker.workers()), "the worker said who it is")
    rig.engine.stop()
    time.sleep(0.3)

    worker.send(signal.SIGTERM)

    assert worker.wait(10) == 0
    assert "Traceback" not in worker.output
