"""Enqueue and transactions (scenario B46): never before COMMIT, never after a rollback, and what happens in between."""

import logging
import threading
from contextlib import contextmanager, suppress

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import TestCase, override_settings
from django.test.utils import CaptureQueriesContext

from queue_app import (
    IdempotencyConflict,
    InvalidArgument,
    State,
    StoreUnavailable,
    TaskGone,
    cancel,
    delivery,
    enqueue,
    enqueue_many,
    signals,
)
from queue_app.brokers.memory import MemoryBroker
from queue_app.testing.enqueued import override_broker
from tests.client.samples import add, send


def ready(store, queue="tasks") -> int:
    return store.stats(queue).counts[State.READY] if queue in store.queues() else 0


class Undo(Exception):
    """Rolls back."""


@contextmanager
def undone(using=None, error=Undo):
    """A transaction that is rolled back at its end."""
    with suppress(error), transaction.atomic(using=using):
        yield
        raise error


# --- real transactions ------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
class TestInTransactions:
    def test_the_store_gets_the_task_after_commit(self, store):
        with transaction.atomic():
            result = add.enqueue(1)
            assert (store.queues(), result.created, result.state) == ([], None, None)

        assert store.get(result.id).state is State.READY
        assert (result.created, result.state) == (True, State.READY)

    def test_a_rollback_leaves_nothing(self, store):
        with undone():
            result = add.enqueue(1)

        assert store.queues() == []
        assert result.created is None
        with pytest.raises(TaskGone):
            result.refresh()

    def test_a_rolled_back_savepoint_takes_only_its_own(self, store):
        with transaction.atomic():
            outer = add.enqueue(1)
            with undone():
                add.enqueue(2)
            with transaction.atomic():
                inner = add.enqueue(3)

        assert ready(store) == 2
        assert (outer.created, inner.created) == (True, True)

    def test_an_error_at_commit_time_leaves_nothing(self, store):
        with undone(error=IntegrityError):
            add.enqueue(1)

        assert ready(store) == 0

    def test_without_a_transaction_it_goes_at_once(self, store):
        add.enqueue(1)

        assert ready(store) == 1

    def test_it_can_be_told_not_to_wait(self, store):
        with undone():
            add.using(on_commit=False).enqueue(1)

        assert ready(store) == 1

    def test_the_setting_can_say_so_and_the_task_otherwise(self, store, settings):
        settings.FORGEQUEUE = {"URL": "memory://", "ENQUEUE_ON_COMMIT": False}

        with transaction.atomic():
            add.enqueue(1)
            assert ready(store) == 1
            add.using(on_commit=True).enqueue(2)
            assert ready(store) == 1

        assert ready(store) == 2

    def test_arguments_are_encoded_in_the_call(self, store):
        numbers = [1]
        with transaction.atomic():
            result = add.enqueue(1, b=numbers)
            numbers.append(2)

        assert store.get(result.id).task.payload == b'{"args":[1],"kwargs":{"b":[1]}}'

    def test_arguments_that_cannot_be_carried_raise_inside_of_the_block(self, store):
        with pytest.raises(InvalidArgument), transaction.atomic():
            add.enqueue(object())

        assert ready(store) == 0

    def test_many_wait_too_in_one_trip_per_slice(self, flaky):
        with transaction.atomic():
            results = enqueue_many((add, (number,)) for number in range(1_500))
            assert flaky.calls == []

        assert [len(call) for call in flaky.calls] == [1000, 500]
        assert all(each.created for each in results)

    def test_by_type_it_waits_too(self, store):
        with transaction.atomic():
            enqueue("elsewhere", b"x")
            assert ready(store) == 0

        assert ready(store) == 1

    def test_a_delay_counts_from_commit(self, store, clock):
        with transaction.atomic():
            result = add.using(delay=60).enqueue(1)
            clock.advance(30)

        assert store.get(result.id).at == clock.now() + 60

    def test_a_task_that_waits_for_commit_is_not_there_to_be_cancelled(self, store):
        with transaction.atomic():
            result = add.enqueue(1)
            with pytest.raises(TaskGone):
                cancel(result.id)

    def test_it_sends_no_queries_of_its_own(self, store):
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            add.enqueue(1)

        assert [each["sql"] for each in queries] == ["BEGIN", "COMMIT"]

    async def test_async_code_waits_for_the_transaction_on_its_own_thread(self, store):
        def view():
            with transaction.atomic():
                result = add.enqueue(1)
                assert result.created is None
            return result

        from asgiref.sync import sync_to_async

        result = await sync_to_async(view)()

        assert result.created

    def test_another_thread_is_not_in_this_transaction(self, store):
        with transaction.atomic():
            thread = threading.Thread(target=add.enqueue, args=(1,))
            thread.start()
            thread.join()
            assert ready(store) == 1

    # --- idempotency ------------------------------------------------------------------------------------------------

    def test_the_id_under_a_key_is_right_before_commit(self, store):
        keyed = send.using(idempotency_key="order-1")
        first = keyed.enqueue(1)

        with transaction.atomic():
            again = keyed.enqueue(1)
            assert again.id == first.id

        assert again.created is False

    def test_two_in_one_transaction_are_one(self, store):
        keyed = send.using(idempotency_key="order-1")

        with transaction.atomic():
            one, other = keyed.enqueue(1), keyed.enqueue(1)

        assert one.id == other.id
        assert (one.created, other.created) == (True, False)
        assert ready(store, "mail") == 1

    def test_a_conflict_after_commit_is_told_as_a_failure(self, store, caplog):
        keyed = send.using(idempotency_key="order-1")
        before = delivery.enqueue_failures()

        with caplog.at_level(logging.ERROR, "forgequeue.client"), transaction.atomic():
            keyed.enqueue(1)
            keyed.enqueue(2)

        assert IdempotencyConflict.__name__ in caplog.text
        assert delivery.enqueue_failures() == before + 1

    def test_the_store_is_needed_for_the_id_in_the_call(self, settings):
        class Down:
            def key_generation(self, queue, key):
                raise StoreUnavailable("down")

        with override_broker(Down()), pytest.raises(StoreUnavailable), transaction.atomic():
            send.using(idempotency_key="order-1").enqueue(1)

    # --- the store goes away after COMMIT ---------------------------------------------------------------------------

    def test_an_answer_that_was_lost_after_commit_is_repeated(self, flaky):
        flaky.faults = ["after"]

        with transaction.atomic():
            result = add.enqueue(1)

        assert result.created
        assert ready(flaky.broker) == 1

    def test_a_store_that_is_away_is_logged_counted_and_signalled_and_others_go_on(self, flaky, caplog):
        flaky.faults = ["before"] * 4
        before, said, others = delivery.enqueue_failures(), [], []

        def failed(sender, task, error, **_):
            said.append((task.id, type(error).__name__))

        signals.enqueue_failed.connect(failed)
        try:
            with caplog.at_level(logging.ERROR, "forgequeue.client"), transaction.atomic():
                one = add.enqueue(1)
                transaction.on_commit(lambda: others.append(1))
                [two] = enqueue_many([(send, (2,))])
        finally:
            signals.enqueue_failed.disconnect(failed)

        assert others == [1]
        assert said == [(one.id, "EnqueueUnknown"), (two.id, "EnqueueUnknown")]
        assert delivery.enqueue_failures() == before + 2
        line = caplog.records[0].getMessage()
        assert line.startswith(f"task not enqueued after COMMIT task={one.id} type={add.task_type} queue=tasks error=")
        assert (one.created, one.state) == (None, None)

    def test_a_bug_in_the_store_stops_no_other_hook(self, caplog):
        class Broken:
            def enqueue_many(self, entries):
                raise ZeroDivisionError("a bug")

        others = []
        with override_broker(Broken()), transaction.atomic():
            add.enqueue(1)
            transaction.on_commit(lambda: others.append(1))

        assert others == [1]
        assert "a bug" in caplog.text


@pytest.mark.django_db(transaction=True, databases=["default"])
def test_an_alias_that_does_not_exist_is_an_error_in_the_call(store):
    from django.utils.connection import ConnectionDoesNotExist

    with pytest.raises(ConnectionDoesNotExist, match="other"):
        add.using(using="other").enqueue(1)


# --- two databases ----------------------------------------------------------------------------------------------------


@pytest.fixture
def other_database(tmp_path):
    """A second database for this test alone. On disk: Django leaves one in memory open."""
    from django.db import connections

    connections.settings["other"] = connections.settings["default"] | {"NAME": tmp_path / "other.sqlite3"}
    yield "other"
    connections["other"].close()
    del connections["other"]
    del connections.settings["other"]


@pytest.mark.django_db(transaction=True)
class TestUsing:
    @pytest.fixture(autouse=True)
    def allowed(self, django_db_blocker, other_database):
        with django_db_blocker.unblock():
            yield

    def test_it_waits_for_the_transaction_of_that_database(self, store, other_database):
        with transaction.atomic(using="other"):
            with transaction.atomic():
                result = add.using(using="other").enqueue(1)
            assert result.created is None

        assert result.created

    def test_a_rollback_there_leaves_nothing(self, store, other_database):
        with undone(using="other"):
            add.using(using="other").enqueue(1)

        assert ready(store) == 0

    def test_the_transaction_of_another_database_is_not_waited_for(self, store, other_database):
        with transaction.atomic(using="other"):
            add.enqueue(1)
            assert ready(store) == 1

    def test_many_wait_each_for_its_own(self, store, other_database):
        with transaction.atomic(using="other"):
            with transaction.atomic():
                results = enqueue_many(
                    [(add, (1,)), (add.using(using="other"), (2,)), (add.using(on_commit=False), (3,))]
                )
                assert [each.created for each in results] == [None, None, True]
            assert [each.created for each in results] == [True, None, True]

        assert [each.created for each in results] == [True, True, True]


# --- a user's TestCase, which never commits ---------------------------------------------------------------------------


class InATestCase(TestCase):
    def setUp(self):
        self.store = self.enterContext(override_broker(MemoryBroker()))

    def test_nothing_is_enqueued(self):
        result = add.enqueue(1)

        assert self.store.queues() == []
        assert result.created is None

    def test_django_can_run_what_waits_for_commit(self):
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            result = add.enqueue(1)

        assert len(callbacks) == 1
        assert result.created
        assert ready(self.store) == 1

    @override_settings(FORGEQUEUE={"URL": "memory://", "ENQUEUE_ON_COMMIT": False})
    def test_a_setting_can_say_not_to_wait(self):
        add.enqueue(1)

        assert ready(self.store) == 1
