"""EAGER: tasks run where they are enqueued."""

import pytest
from django.db import transaction
from django.utils import translation

from queue_app import State, Unencodable, enqueue, enqueue_many, task
from queue_app.registry import handlers
from tests.client import samples
from tests.client.samples import add, add_later, count, fail, fail_once, parent, unreadable_result


@pytest.fixture(autouse=True)
def eager(settings):
    """No store is ever asked for: this one does not exist."""
    settings.FORGEQUEUE = {"URL": "redis://nowhere.invalid:1", "EAGER": True}
    samples.calls.clear()


def test_the_handle_is_finished_with_the_result():
    result = add.enqueue(1, b=2)

    assert (result.state, result.return_value, result.attempts, result.created) == (State.SUCCEEDED, 3, 1, True)
    assert result.is_finished
    assert samples.calls == [(1, 2)]


def test_the_handle_can_be_refreshed_without_a_store():
    result = add.enqueue(1)

    result.refresh()

    assert result.return_value == 1


async def test_async_handlers_run_too():
    result = await add_later.aenqueue(1, 2)

    assert result.return_value == 3


def test_async_handlers_run_from_sync_code():
    assert add_later.enqueue(1, 2).return_value == 3


def test_a_context_is_given():
    assert count.enqueue(5).return_value == 5
    assert enqueue("tests.raw_context", b"hi").return_value == "tests.raw_context hi"


def test_arguments_make_the_way_through_bytes():
    given = [1]
    add.enqueue(0, b=given)

    assert samples.calls == [(0, [1])]
    assert samples.calls[0][1] is not given


@pytest.mark.parametrize(
    ("how", "state", "errors"),
    [
        ("break", State.RETRYING, ["Broken"]),
        ("retry", State.RETRYING, ["Retry"]),
        ("reject", State.DEAD, ["Reject"]),
        ("mute", State.RETRYING, ["Mute"]),
        ("snooze", State.SCHEDULED, []),
    ],
)
def test_what_the_handler_raises_is_in_the_state(how, state, errors):
    result = fail.enqueue(how)

    assert (result.state, [each.type for each in result.errors]) == (state, errors)
    assert samples.calls == [(how,)]


def test_an_error_tells_where_it_was_raised():
    [error] = fail.enqueue("break").errors

    assert (error.message, error.attempt) == ("broken", 1)
    assert 'raise Broken("broken")' in error.traceback


def test_the_last_attempt_makes_it_dead():
    assert fail_once.enqueue().state is State.DEAD


def test_a_type_that_nobody_handles_is_an_error_of_the_task():
    result = enqueue("elsewhere", b"")

    assert (result.state, result.errors[0].type) == (State.RETRYING, "UnknownTaskType")


def test_a_result_that_cannot_be_kept_fails_nothing():
    result = unreadable_result.enqueue()

    assert result.state is State.SUCCEEDED
    with pytest.raises(Unencodable):
        _ = result.return_value


@pytest.mark.django_db(transaction=True)
def test_no_transaction_and_no_delay_is_waited_for():
    with transaction.atomic():
        result = add.using(delay=60).enqueue(1)

    assert result.state is State.SUCCEEDED


def test_an_expired_task_does_not_run():
    result = add.using(expires=0).enqueue(1)

    assert (result.state, result.task.cancel_reason) == (State.CANCELLED, "expired")
    assert samples.calls == []


def test_what_a_task_enqueues_runs_inside_of_it():
    assert parent.enqueue().state is State.SUCCEEDED
    assert samples.calls == [(1, 2)]


def test_many_run_one_after_the_other():
    results = enqueue_many((add, (number,)) for number in range(3))

    assert [each.return_value for each in results] == [0, 1, 2]


def test_an_idempotency_key_needs_no_store():
    assert add.using(idempotency_key="x").enqueue(1).return_value == 1


def test_a_language_that_a_handler_activates_ends_with_it(monkeypatch):
    monkeypatch.setattr(handlers, "_handlers", dict(handlers._handlers))

    def speak():
        translation.activate("de")
        return translation.get_language()

    speak.__qualname__ = "speak"
    result = task(name="tests.speak")(speak).enqueue()

    assert (result.return_value, translation.get_language()) == ("de", "en-us")


def test_what_ends_the_process_is_not_caught(monkeypatch):
    monkeypatch.setattr(handlers, "_handlers", dict(handlers._handlers))

    def leave():
        raise KeyboardInterrupt

    leave.__qualname__ = "leave"
    one = task(name="tests.leave")(leave)

    with pytest.raises(KeyboardInterrupt):
        one.enqueue()
