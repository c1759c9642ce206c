"""The notable tests of the Go system, by their names there."""

from collections.abc import Callable

from queue_app.core.states import State
from queue_app.worker.slot import HELD_UP_SECONDS
from tests.worker.kit import LEASE, Kit

MakeKit = Callable[..., Kit]


def test_worker_ack_prevents_requeue(kit: Kit) -> None:
    task_id = kit.enqueue()
    kit.work()
    kit.time.advance(10 * LEASE)

    kit.worker.reclaimer.run_once()
    kit.work()

    assert kit.ran == [task_id]
    assert kit.state(task_id) is None
    assert "reclaimed" not in kit.broker.stats("tasks").totals


def test_worker_requeue_after_failure(kit: Kit) -> None:
    def fails_once() -> None:
        kit.ran.append(kit.time.now())
        if len(kit.ran) == 1:
            raise ConnectionError("first")

    kit.handle("fails once", fails_once)
    task_id = kit.enqueue("fails once")
    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.RETRYING
    assert snapshot.at is not None
    assert 0.75 <= snapshot.at - kit.time.now() <= 1.0
    assert snapshot.task.attempts == 1
    kit.time.advance(1)
    kit.worker.promoter.run_once()
    kit.work()
    assert len(kit.ran) == 2
    assert kit.state(task_id) is None


def test_worker_dead_letters_after_retry_budget(kit: Kit) -> None:
    def fails() -> None:
        kit.ran.append(1)
        raise ConnectionError(f"failure {len(kit.ran)}")

    kit.handle("fails", fails)
    task_id = kit.enqueue("fails", max_retries=2)

    for _ in range(10):
        kit.work()
        kit.time.advance(60)
        kit.worker.promoter.run_once()

    snapshot = kit.get(task_id)
    assert len(kit.ran) == 3
    assert snapshot.state is State.DEAD
    assert snapshot.task.attempts == 3
    assert [error.message for error in snapshot.task.errors] == ["failure 1", "failure 2", "failure 3"]
    assert "ConnectionError" in snapshot.task.errors[-1].traceback


def test_worker_without_a_budget_retries_for_ever(kit: Kit) -> None:
    kit.handle("fails", lambda: 1 / 0)
    task_id = kit.enqueue("fails", max_retries=0)

    for _ in range(100):
        kit.work()
        kit.time.advance(60)
        kit.worker.promoter.run_once()

    assert kit.get(task_id).task.attempts == 100
    assert kit.state(task_id) is State.READY


def test_worker_delayed_task_promotion(kit: Kit) -> None:
    task_id = kit.enqueue(delay=5.0)
    kit.work()
    kit.time.advance(4.9)
    kit.worker.promoter.run_once()
    kit.work()
    assert kit.ran == []

    kit.time.advance(0.1)
    kit.worker.promoter.run_once()
    kit.work()

    assert kit.ran == [task_id]


def test_worker_batch_claims_and_acks(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=16)
    ids = [kit.enqueue() for _ in range(40)]

    batches = kit.work()

    assert batches == 3
    assert kit.ran == ids
    assert sum(verb == "exchange" for verb, _, _ in kit.broker.calls) == 4
    assert kit.broker.stats("tasks").counts == dict.fromkeys(State, 0)


def test_worker_batch_mixed_success_and_failure(make_kit: MakeKit) -> None:
    kit = make_kit(batch_size=16)

    def odd_ones_fail(number: int) -> None:
        kit.ran.append(number)
        if number % 2:
            raise ValueError(number)

    kit.handle("odd ones fail", odd_ones_fail)
    ids = [kit.enqueue("odd ones fail", number) for number in range(16)]

    assert kit.work() == 1

    assert kit.ran == list(range(16))
    assert [kit.state(each) for each in ids] == [None, State.RETRYING] * 8


def test_worker_batch_lease_kept_alive(make_kit: MakeKit) -> None:
    """A batch that takes longer than a lease, task by task: each runs once."""
    kit = make_kit(batch_size=4)
    other = kit.another(name="w2")

    def slow(number: int) -> None:
        kit.ran.append(number)
        for _ in range(6):
            kit.time.advance(HELD_UP_SECONDS / 6)
            kit.worker.heart.run_once()
            other.reclaimer.run_once()

    kit.handle("slow", slow)
    ids = [kit.enqueue("slow", number) for number in range(80)]
    began = kit.time.now()

    while kit.work() or kit.work(other):
        pass

    assert kit.ran == list(range(80))
    assert kit.time.now() > began + LEASE
    assert all(kit.state(each) is None for each in ids)
