"""The soft limit: an exception in the attempt whose time is up, and in no other."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.context import Context, SoftTimeLimit
from queue_app.core.states import State
from queue_app.worker.limit import SoftLimit
from tests.worker.kit import Kit


def spend(kit: Kit, seconds: float) -> None:
    """What the watch does on its next look, so much later."""
    kit.time.advance(seconds)
    kit.slot.look_after(kit.time.now())


def test_a_handler_whose_time_is_up_fails_and_is_retried(kit: Kit) -> None:
    def handler() -> None:
        spend(kit, 4.9)
        kit.ran.append("in time")
        spend(kit, 0.2)
        kit.ran.append("too late")

    kit.handle("slow", handler)
    task_id = kit.enqueue("slow", timeout=5.0)

    kit.work()

    error = kit.get(task_id).task.last_error
    assert kit.ran == ["in time"]
    assert kit.state(task_id) is State.RETRYING
    assert error is not None
    assert (error.type, error.message) == ("SoftTimeLimit", "the attempt ran for longer than its timeout")


def test_the_limit_is_that_of_the_attempt_not_of_the_batch(kit: Kit) -> None:
    kit.handle("slow", lambda: spend(kit, 3.0))
    for _ in range(3):
        kit.enqueue("slow", timeout=5.0)

    kit.work()

    assert kit.broker.stats("tasks").totals["succeeded"] == 3


def test_a_handler_without_a_limit_runs_for_as_long_as_it_likes(kit: Kit) -> None:
    kit.handle("slow", lambda: spend(kit, 1e6))
    task_id = kit.enqueue("slow")

    kit.work()

    assert kit.state(task_id) is None


def test_a_handler_may_tidy_up_and_return(kit: Kit) -> None:
    def handler() -> None:
        try:
            spend(kit, 6.0)
        except SoftTimeLimit:
            kit.ran.append("tidied up")

    kit.handle("slow", handler)
    task_id = kit.enqueue("slow", timeout=5.0)

    kit.work()

    assert kit.ran == ["tidied up"]
    assert kit.state(task_id) is None


def test_the_limit_comes_once(kit: Kit) -> None:
    def handler() -> None:
        try:
            spend(kit, 6.0)
        except SoftTimeLimit:
            spend(kit, 6.0)
            kit.ran.append("goes on")

    kit.handle("slow", handler)
    kit.enqueue("slow", timeout=5.0)

    kit.work()

    assert kit.ran == ["goes on"]


def test_a_handler_that_waits_on_its_context_is_woken(kit: Kit) -> None:
    def handler(context: Context) -> None:
        watch = threading.Timer(0.05, spend, (kit, 6.0))
        watch.start()
        try:
            context.wait(60.0)
        finally:
            watch.join()
            kit.ran.append(context.cancel_reason)

    kit.handle("waits", handler, takes_context=True)
    task_id = kit.enqueue("waits", timeout=5.0)
    began = time.monotonic()

    kit.work()

    assert time.monotonic() - began < 30.0
    assert kit.ran == ["timeout"]
    assert kit.get(task_id).task.last_error.type == "SoftTimeLimit"


def test_a_handler_that_asks_its_context_is_told_of_the_limit() -> None:
    context = Context(task=None)  # type: ignore[arg-type]
    context.cancel("timeout")

    with pytest.raises(SoftTimeLimit):
        context.heartbeat()


def test_an_async_handler_is_cancelled_and_has_failed(kit: Kit) -> None:
    async def handler(context: Context) -> None:
        try:
            await asyncio.sleep(60.0)
        finally:
            kit.ran.append(context.cancel_reason)

    kit.handle("sleeps", handler, is_async=True, takes_context=True)
    task_id = kit.enqueue("sleeps", timeout=0.05)

    kit.work()

    assert kit.ran == ["timeout"]
    assert kit.state(task_id) is State.RETRYING
    assert kit.get(task_id).task.last_error.type == "SoftTimeLimit"
    kit.worker.runner.lane.close()


def test_an_async_handler_that_cancels_itself_has_met_no_limit(kit: Kit) -> None:
    async def handler() -> None:
        raise asyncio.CancelledError

    kit.handle("ends", handler, is_async=True)
    task_id = kit.enqueue("ends", timeout=60.0)

    kit.work()

    assert kit.get(task_id).task.last_error.type == "CancelledError"
    kit.worker.runner.lane.close()


def test_a_limit_that_is_looked_at_after_its_attempt_does_nothing(kit: Kit) -> None:
    kept = []
    kit.handle("limited", lambda: kept.append(kit.slot.limit))
    kit.enqueue("limited", timeout=5.0)
    kit.work()

    kept[0].look(float("inf"))

    assert kit.slot.limit is None
    assert kit.broker.stats("tasks").totals["succeeded"] == 1


def test_an_exception_that_was_set_while_the_attempt_ended_is_taken_back() -> None:
    is_told, reasons = threading.Event(), []

    def tell(reason: str) -> None:
        reasons.append(reason)
        is_told.set()
        # Long enough for the other thread to stand before the lock.
        time.sleep(0.05)

    limit = SoftLimit(0.0, tell)
    watch = threading.Thread(target=limit.look, args=(1.0,))
    watch.start()
    is_told.wait()

    limit.end()

    watch.join()
    assert reasons == ["timeout"]


@contextmanager
def looking_all_the_time(kit: Kit) -> Iterator[None]:
    """A watch for which every limit is over at once, and that never rests."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            limit = kit.slot.limit
            if limit is not None:
                limit.look(float("inf"))

    thread = threading.Thread(target=look)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_a_limit_that_meets_the_end_of_its_attempt_never_lands_in_another(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    def count(turns: int) -> None:
        for _ in range(turns):
            pass

    kit.handle("limited", count)
    kit.handle("free", kit.ran.append)
    # The last would take half a minute: there at least the two threads take turns.
    limited = [kit.enqueue("limited", turns, timeout=5.0, max_retries=-1) for turns in (*range(500), 10**9)]
    free = [kit.enqueue("free", number) for number in range(500)]

    with looking_all_the_time(kit):
        kit.work()

    errors = {kit.get(each).task.last_error.message for each in limited if kit.state(each) is State.DEAD}
    assert kit.ran == list(range(500))
    assert {kit.state(each) for each in free} == {None}
    assert errors == {"the attempt ran for longer than its timeout"}
    assert [record.message for record in caplog.records if "broke off" in record.message] == []


def test_a_worker_ends_a_loop_that_would_go_on_for_ever() -> None:
    kit = Kit(MemoryBroker(), None)

    def spin() -> None:
        while True:
            pass

    kit.handle("spins", spin)
    task_id = kit.enqueue("spins", timeout=0.05, max_retries=-1)

    kit.another(name="w2", burst=True).run()

    assert kit.get(task_id).task.last_error.type == "SoftTimeLimit"
