"""How a worker ends. These run on real threads: most in a few milliseconds, none longer than a second."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.context import Context
from queue_app.core.states import State
from queue_app.worker.worker import Worker
from tests.worker.kit import Faulty, Kit, lines

SOON = 5.0


class Running:
    """A worker that runs on a thread, and a handler that runs until it is let go."""

    def __init__(self, broker: Any) -> None:
        self.kit = Kit(broker, None)
        self.started = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.contexts: list[Context] = []
        self.codes: list[int] = []
        self._threads: list[threading.Thread] = []
        self.kit.handle("blocks", self._blocks, takes_context=True)

    def _blocks(self, context: Context) -> None:
        self.contexts.append(context)
        self.started.release()
        self.let_go.wait(SOON * 2)
        self.kit.ran.append(context.id)

    def start(self, **options: Any) -> Worker:
        worker = self.kit.another(**({"name": "w"} | options))
        thread = threading.Thread(target=lambda: self.codes.append(worker.run()), daemon=True)
        thread.start()
        self._threads.append(thread)
        return worker

    def ended(self, seconds: float = SOON) -> list[int]:
        """The exit codes, once all workers have ended."""
        for thread in self._threads:
            thread.join(seconds)
            assert not thread.is_alive()
        return self.codes

    def close(self) -> None:
        self.let_go.set()
        for thread in self._threads:
            thread.join(SOON)


@pytest.fixture
def running() -> Iterator[Running]:
    running = Running(Faulty(MemoryBroker()))
    yield running
    running.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_an_idle_worker_ends_at_once(running: Running) -> None:
    worker = running.start()
    until(lambda: worker.runner.waiter.is_waiting)
    began = time.monotonic()

    worker.stop()

    assert running.ended() == [0]
    assert time.monotonic() - began < 1.0


def test_what_runs_ends_and_is_settled_and_nothing_new_starts(running: Running) -> None:
    kit = running.kit
    task_id = kit.enqueue("blocks")
    worker = running.start(concurrency=2)
    assert running.started.acquire(timeout=SOON)

    worker.stop()
    until(lambda: worker.runner.is_draining)
    later = kit.enqueue()
    time.sleep(0.05)
    assert not running.codes
    running.let_go.set()

    assert running.ended() == [0]
    assert kit.ran == [task_id]
    assert kit.state(task_id) is None
    assert kit.state(later) is State.READY
    assert not running.contexts[0].cancelled


def test_what_was_claimed_and_not_started_is_released_at_once(running: Running) -> None:
    kit = running.kit
    first = kit.enqueue("blocks")
    waiting = [kit.enqueue() for _ in range(3)]
    worker = running.start(batch_size=4)
    assert running.started.acquire(timeout=SOON)

    worker.stop()

    until(lambda: [kit.state(each) for each in waiting] == [State.READY] * 3)
    assert kit.state(first) is State.RUNNING
    running.let_go.set()
    assert running.ended() == [0]
    assert [kit.get(each).task.attempts for each in waiting] == [0, 0, 0]


def test_worker_shutdown_with_a_handler_that_outlasts_the_drain(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Infrastructure loops stop, in-flight handlers drain up to the timeout, then are cancelled; de-registered."""
    kit = running.kit
    task_id = kit.enqueue("blocks", max_retries=-1)
    worker = running.start(drain_seconds=0.2)
    assert running.started.acquire(timeout=SOON)
    until(lambda: len(kit.broker.workers()) == 1)

    worker.stop()

    assert running.ended() == [0]
    assert kit.state(task_id) is State.READY
    assert kit.get(task_id).task.attempts == 0
    assert running.contexts[0].cancel_reason == "shutdown"
    assert kit.broker.workers() == []
    assert worker.is_stuck
    assert lines(caplog, "task cut off")


def test_the_late_outcome_of_a_handler_that_was_cut_off_changes_nothing(running: Running) -> None:
    kit = running.kit
    task_id = kit.enqueue("blocks")
    worker = running.start(drain_seconds=0.0)
    assert running.started.acquire(timeout=SOON)
    worker.stop()
    assert running.ended() == [0]

    running.let_go.set()
    until(lambda: not worker.is_stuck)
    time.sleep(0.05)

    assert kit.state(task_id) is State.READY


def test_finished_tasks_are_settled_though_their_batch_is_cut_off(running: Running) -> None:
    kit = running.kit
    finished = kit.enqueue()
    cut_off = kit.enqueue("blocks")
    worker = running.start(batch_size=2, drain_seconds=0.0)
    assert running.started.acquire(timeout=SOON)

    worker.stop()

    assert running.ended() == [0]
    assert kit.state(finished) is None
    assert kit.state(cut_off) is State.READY


def test_a_second_request_ends_at_once(running: Running) -> None:
    kit = running.kit
    task_id = kit.enqueue("blocks")
    worker = running.start(drain_seconds=60.0)
    assert running.started.acquire(timeout=SOON)
    worker.stop()
    until(lambda: worker.runner.is_draining)
    began = time.monotonic()

    worker.stop()

    assert running.ended() == [0]
    assert time.monotonic() - began < 1.5
    assert kit.state(task_id) is State.READY


def test_a_store_that_is_away_delays_no_end_beyond_its_timeouts(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    kit = running.kit
    kit.enqueue("blocks")
    worker = running.start(drain_seconds=0.1)
    assert running.started.acquire(timeout=SOON)
    kit.broker.is_down = True
    began = time.monotonic()

    worker.stop()

    assert running.ended() == [0]
    assert time.monotonic() - began < 6.0
    assert lines(caplog, "could not hand back what runs")


def test_an_idle_worker_whose_store_is_away_ends_without_waiting_for_it(running: Running) -> None:
    worker = running.start(drain_seconds=30.0)
    running.kit.broker.is_down = True
    until(lambda: worker.runner.is_asking_in_vain)
    began = time.monotonic()

    worker.stop()

    assert running.ended() == [0]
    assert time.monotonic() - began < 5.0


def test_a_burst_ends_when_nothing_is_ready(running: Running) -> None:
    kit = running.kit
    ids = [kit.enqueue() for _ in range(100)]
    later = kit.enqueue(delay=60.0)

    running.start(burst=True, concurrency=3)

    assert running.ended() == [0]
    assert sorted(kit.ran) == sorted(ids)
    assert kit.state(later) is State.SCHEDULED


def test_a_burst_waits_for_what_running_tasks_enqueue(running: Running) -> None:
    kit = running.kit
    kit.handle("enqueues", lambda depth: (time.sleep(0.02), kit.enqueue("enqueues", depth - 1) if depth else None))
    kit.enqueue("enqueues", 5)

    running.start(burst=True, concurrency=3)

    assert running.ended() == [0]
    assert kit.broker.stats("tasks").totals["succeeded"] == 6


def test_a_burst_runs_what_is_due_and_not_what_retries_later(running: Running) -> None:
    kit = running.kit
    kit.handle("fails", lambda: 1 / 0)
    due, fails = kit.enqueue(delay=0.02), kit.enqueue("fails")
    time.sleep(0.05)

    running.start(burst=True)

    assert running.ended() == [0]
    assert kit.ran == [due]
    assert kit.state(fails) is State.RETRYING


def test_a_burst_on_a_paused_queue_ends(running: Running) -> None:
    running.kit.enqueue()
    running.kit.broker.pause("tasks")

    running.start(burst=True, concurrency=2)

    assert running.ended() == [0]
    assert running.kit.ran == []


def test_a_duty_that_gives_up_ends_the_worker_with_an_error(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def dies(self: object) -> float:
        raise KeyError("defect")

    monkeypatch.setattr("queue_app.worker.heart.Heart.run_once", dies)
    monkeypatch.setattr("queue_app.worker.loop.RESTARTS", 0)
    monkeypatch.setattr("queue_app.worker.outage.FIRST_DELAY_SECONDS", 0.001)

    running.start()

    assert running.ended(10) == [1]
    assert lines(caplog, "worker stops, a duty gave up duty=heart error=KeyError")


def test_slots_share_the_work(running: Running) -> None:
    kit = running.kit
    for _ in range(4):
        kit.enqueue("blocks")
    worker = running.start(concurrency=4)

    for _ in range(4):
        assert running.started.acquire(timeout=SOON)

    running.let_go.set()
    worker.stop()
    assert running.ended() == [0]
    assert kit.broker.stats("tasks").totals["succeeded"] == 4


def test_work_behind_a_slow_task_goes_to_a_free_slot(running: Running) -> None:
    kit = running.kit
    kit.enqueue("blocks")
    quick = [kit.enqueue() for _ in range(3)]
    worker = running.start(concurrency=2, batch_size=4)
    assert running.started.acquire(timeout=SOON)

    until(lambda: sorted(kit.ran) == sorted(quick))

    running.let_go.set()
    worker.stop()
    assert running.ended() == [0]
