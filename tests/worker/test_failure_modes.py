"""The Failure Modes table of the Go system, a test or more for each row. (What needs real processes or a real engine is
in tests/process: an engine that restarts, and one that is not there at the start.)"""

from collections.abc import Callable

import pytest

from queue_app.context import Context
from queue_app.core.states import State
from queue_app.worker.batch import LOST
from tests.worker.kit import LEASE, Kit, lines

MakeKit = Callable[..., Kit]


def test_worker_crash_mid_handler(kit: Kit) -> None:
    """Lease expires; recovery requeues the task with backoff (counts as an attempt)."""
    task_id = kit.enqueue()
    kit.broker.claim("tasks", holder="crashed:0", lease_seconds=LEASE)

    kit.time.advance(LEASE - 0.1)
    kit.worker.reclaimer.run_once()
    assert kit.state(task_id) is State.RUNNING
    kit.time.advance(0.2)
    kit.worker.reclaimer.run_once()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.RETRYING
    assert snapshot.task.attempts == 1
    kit.time.advance(1)
    kit.worker.promoter.run_once()
    kit.work()
    assert kit.ran == [task_id]


def test_handler_returns_error(kit: Kit) -> None:
    """Attempt increments; lease released immediately."""
    kit.handle("fails", lambda: 1 / 0)
    task_id = kit.enqueue("fails")

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.RETRYING
    assert snapshot.task.attempts == 1
    assert kit.broker.stats("tasks").counts[State.RUNNING] == 0


def test_stale_worker_tries_to_ack(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """Fencing check rejects the operation."""
    task_id = kit.enqueue()
    other = kit.another(name="w2")
    kit.slot.cycle()
    kit.time.advance(LEASE + 0.1)
    other.reclaimer.run_once()
    kit.time.advance(1)
    other.promoter.run_once()
    other.runner.slots[0].cycle()
    assert kit.ran == [task_id, task_id]

    kit.slot.cycle()

    assert kit.get(task_id).task.attempts == 1
    assert kit.state(task_id) is State.RUNNING
    assert lines(caplog, "outcome dropped, lease lost")
    kit.work(other)
    assert kit.state(task_id) is None


def test_heartbeat_fails_since_the_lease_is_lost(kit: Kit) -> None:
    """Handler context is cancelled."""
    reasons: list[str] = []

    def handler(context: Context) -> None:
        kit.time.advance(LEASE + 0.1)
        kit.another(name="w2").reclaimer.run_once()
        kit.worker.heart.run_once()
        reasons.append(context.cancel_reason)

    kit.handle("long", handler, takes_context=True)
    kit.enqueue("long")
    kit.work()

    assert reasons == [LOST]


def test_heartbeat_fails_since_the_store_is_unreachable(kit: Kit) -> None:
    """Handler context is cancelled, once the lease has run out and not before."""
    seen: list[bool] = []

    def handler(context: Context) -> None:
        kit.broker.is_down = True
        for _ in range(4):
            kit.time.advance(0.3 * LEASE)
            kit.worker.heart.step()
            kit.worker.runner.watch.step()
            seen.append(context.cancelled)
        kit.broker.is_down = False

    kit.handle("long", handler, takes_context=True)
    kit.enqueue("long")
    kit.work()

    assert seen == [False, False, False, True]


def test_inflight_tasks_at_redis_restart(kit: Kit) -> None:
    """Leases expire in real time; recovery handles them after downtime."""
    task_id = kit.enqueue()
    kit.broker.claim("tasks", holder="gone:0", lease_seconds=LEASE)
    kit.broker.is_down = True
    kit.worker.reclaimer.step()
    kit.time.advance(10 * LEASE)
    kit.broker.is_down = False

    kit.worker.reclaimer.step()

    assert kit.state(task_id) is State.RETRYING


def test_corrupt_json_in_task_body(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """Sent to dead letter queue."""
    task_id = kit.enqueue("noop", id="t1")
    after = kit.enqueue()
    kit.corrupt(task_id)

    kit.work()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.DEAD
    assert snapshot.problem
    assert snapshot.body == b'{"id": "t1", "task_ty'
    assert kit.ran == [after]
    assert lines(caplog, "task died, its body is unreadable")


def test_corrupt_json_whose_worker_crashed(kit: Kit) -> None:
    """Sent to dead letter queue."""
    task_id = kit.enqueue("noop", id="t1")
    kit.corrupt(task_id)
    kit.broker.claim("tasks", holder="crashed:0", lease_seconds=LEASE)
    kit.time.advance(LEASE + 0.1)

    kit.worker.reclaimer.run_once()

    assert kit.state(task_id) is State.DEAD


def test_no_handler_for_task_type(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """Task is retried until budget exhausted, then dead-lettered."""
    task_id = kit.enqueue("nobody", max_retries=2)

    for _ in range(5):
        kit.work()
        kit.time.advance(60)
        kit.worker.promoter.run_once()

    snapshot = kit.get(task_id)
    assert snapshot.state is State.DEAD
    assert snapshot.task.attempts == 3
    assert snapshot.task.last_error is not None
    assert snapshot.task.last_error.type == "UnknownTaskType"
    assert len(lines(caplog, "task failed")) == 2
    assert len(lines(caplog, "task died")) == 1


def test_queue_paused(make_kit: MakeKit) -> None:
    """Claim script returns nothing; in-flight tasks keep draining."""
    kit = make_kit(batch_size=1)

    def pauses() -> None:
        kit.broker.pause("tasks")
        kit.ran.append("ended")

    kit.handle("pauses", pauses)
    running, waiting = kit.enqueue("pauses"), kit.enqueue()

    kit.work()

    assert kit.ran == ["ended"]
    assert kit.state(running) is None
    assert kit.state(waiting) is State.READY
    kit.broker.resume("tasks")
    kit.work()
    assert kit.ran == ["ended", waiting]


def test_every_queue_paused(kit: Kit) -> None:
    """The same for the flag of all queues."""
    task_id = kit.enqueue()
    kit.broker.pause()

    kit.work()

    assert kit.state(task_id) is State.READY
