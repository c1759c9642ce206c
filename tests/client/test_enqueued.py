"""What users' tests are given: capture, assert, run."""

import threading

import pytest
from django.db import transaction
from django.test import TestCase

from queue_app import State, enqueue, enqueue_many
from queue_app.brokers.memory import MemoryBroker
from queue_app.runtime import get_broker
from queue_app.testing.enqueued import assert_enqueued, capture_enqueued, override_broker, run_enqueued
from tests.client import samples
from tests.client.samples import add, add_later, count, echo, fail, fail_once, parent, send, third_time


@pytest.fixture
def enqueued(settings):
    """Nothing reaches the store: this one does not exist."""
    settings.FORGEQUEUE = {"URL": "redis://nowhere.invalid:1"}
    samples.calls.clear()
    with capture_enqueued() as captured:
        yield captured


# --- capture ----------------------------------------------------------------------------------------------------------


def test_what_is_enqueued_is_seen_and_not_stored(enqueued):
    result = send.using(delay=5).enqueue(1)

    assert [each.id for each in enqueued] == [result.id]
    assert (len(enqueued), result.created, result.state) == (1, True, State.SCHEDULED)
    result.refresh()


def test_it_is_seen_in_a_transaction_at_the_call(enqueued, db):
    with transaction.atomic():
        send.enqueue(1)
        assert_enqueued(send, 1)


def test_every_door_is_seen(enqueued):
    enqueue("elsewhere", b"x")
    enqueue_many([(add, (1,)), add.prepare(2)])
    add.using(idempotency_key="x").enqueue(3)

    assert [each.task.task_type for each in enqueued] == ["elsewhere", *[add.task_type] * 3]


def test_other_threads_are_seen(enqueued):
    thread = threading.Thread(target=add.enqueue, args=(1,))
    thread.start()
    thread.join()

    assert_enqueued(add, 1)


def test_an_inner_block_sees_its_own(enqueued):
    with capture_enqueued() as inner:
        add.enqueue(1)
    add.enqueue(2)

    inner.assert_enqueued(add, 1, times=1)
    enqueued.assert_enqueued(add, times=1)


def test_outside_of_a_block_nothing_is_seen_and_that_is_an_error():
    with pytest.raises(AssertionError, match="outside of a capture_enqueued"):
        assert_enqueued(add)
    with pytest.raises(AssertionError, match="outside of a capture_enqueued"):
        run_enqueued()


# --- assert -----------------------------------------------------------------------------------------------------------


def test_arguments_match_by_place_and_by_name(enqueued):
    add.enqueue(1, b=2)

    assert_enqueued(add)
    assert_enqueued(add, 1, 2)
    assert_enqueued(add, a=1, b=2)
    assert_enqueued(add.task_type, 1, b=2)
    [found] = assert_enqueued(add, 1, 2, queue="tasks", times=1)
    assert found.task.task_type == add.task_type


def test_a_raw_payload_matches_as_bytes(enqueued):
    enqueue("tests.raw", b"\xff")

    assert_enqueued("tests.raw", b"\xff", queue="bytes")
    with pytest.raises(AssertionError):
        assert_enqueued("tests.raw", b"x")


@pytest.mark.parametrize(
    "claim",
    [
        lambda: assert_enqueued(send),
        lambda: assert_enqueued(add, 1),
        lambda: assert_enqueued(add, 1, b=3),
        lambda: assert_enqueued(add, 1, 2, queue="far"),
        lambda: assert_enqueued(add, 1, 2, times=2),
        lambda: assert_enqueued(add, times=0),
    ],
)
def test_what_is_not_so_fails_and_lists_what_is(enqueued, claim):
    add.enqueue(1, b=2)

    with pytest.raises(AssertionError, match=r"was not enqueued.*\n  tests\.client\.samples\.add\(1, b=2\) in tasks"):
        claim()


def test_arguments_that_never_fit_are_a_mistake_of_the_test(enqueued):
    add.enqueue(1)

    with pytest.raises(TypeError, match=r"add\(\)"):
        assert_enqueued(add, c=1)


def test_nothing_can_be_asserted(enqueued):
    enqueued.assert_nothing_enqueued()
    assert_enqueued(add, times=0)

    add.enqueue(1)

    with pytest.raises(AssertionError, match=r"nothing should have been enqueued\. Enqueued: \n  tests"):
        enqueued.assert_nothing_enqueued()


# --- run --------------------------------------------------------------------------------------------------------------


def test_what_was_enqueued_runs_with_results_in_order(enqueued):
    add.enqueue(1, b=2)
    add_later.enqueue(3, 4)
    count.enqueue(5)
    echo.enqueue("x")

    results = enqueued.run()

    assert [each.return_value for each in results] == [3, 7, 5, [["x"], {}]]
    assert all(each.state is State.SUCCEEDED for each in results)


def test_nothing_is_soon_done(enqueued):
    assert run_enqueued() == []


def test_what_runs_can_enqueue(enqueued):
    parent.enqueue()

    results = run_enqueued()

    assert [each.task_type for each in results] == [parent.task_type, add.task_type]
    assert results[1].return_value == 3


def test_it_can_run_after_the_block(settings):
    settings.FORGEQUEUE = {"URL": "redis://nowhere.invalid:1"}
    with capture_enqueued() as captured:
        parent.enqueue()

    assert len(captured.run()) == 2


def test_time_passes_at_once(enqueued):
    late = add.using(delay=86_400).enqueue(1)
    soon = add.using(delay=60).enqueue(2)
    tried = third_time.enqueue()

    results = {each.id: each for each in run_enqueued()}

    assert (results[tried.id].return_value, results[tried.id].attempts) == ("at last", 3)
    assert [call[0] for call in samples.calls] == [2, 1]
    assert results[late.id].state is results[soon.id].state is State.SUCCEEDED


def test_failures_are_in_the_handles(enqueued):
    fail_once.enqueue()
    fail.enqueue("break")
    fail.enqueue("reject")

    once, broken, rejected = run_enqueued()

    assert [each.state for each in (once, broken, rejected)] == [State.DEAD] * 3
    assert [each.attempts for each in (once, broken, rejected)] == [1, 3, 1]


def test_what_expired_on_the_way_is_cancelled(enqueued):
    add.using(delay=60, expires=30).enqueue(1)

    [result] = run_enqueued()

    assert (result.state, result.task.cancel_reason) == (State.CANCELLED, "expired")


def test_what_never_ends_is_told(enqueued):
    fail.enqueue("snooze", after=1)

    with pytest.raises(AssertionError, match="still not finished after 1000 attempts"):
        run_enqueued()


def test_a_key_runs_once(enqueued):
    keyed = add.using(idempotency_key="x")
    keyed.enqueue(1)
    keyed.enqueue(1)

    assert len(run_enqueued()) == 1
    assert samples.calls == [(1, 0)]


# --- in a TestCase ----------------------------------------------------------------------------------------------------


class InATestCase(TestCase):
    def setUp(self):
        self.enqueued = self.enterContext(capture_enqueued())

    def test_it_needs_no_commit(self):
        add.enqueue(1)

        self.enqueued.assert_enqueued(add, 1)
        assert [each.return_value for each in self.enqueued.run()] == [1]


def test_a_broker_can_be_put_in_place_for_every_thread(settings):
    settings.FORGEQUEUE = {"URL": "redis://nowhere.invalid:1"}
    seen = []
    with override_broker(MemoryBroker()) as broker:
        thread = threading.Thread(target=lambda: seen.append(get_broker()))
        thread.start()
        thread.join()
        add.enqueue(1)

    assert seen == [broker]
    assert broker.stats("tasks").counts[State.READY] == 1
