"""Enqueue outside of a transaction: what the store gets, and what the caller is told when it goes wrong."""

import base64
import json
import logging

import pytest

from queue_app import (
    EnqueueUnknown,
    IdempotencyConflict,
    InvalidArgument,
    InvalidName,
    PayloadTooLarge,
    State,
    StoreRefused,
    StoreUnavailable,
    TaskGone,
    aenqueue,
    aenqueue_many,
    delivery,
    enqueue,
    enqueue_many,
    signals,
)
from queue_app.core.answers import Receipt
from queue_app.testing.enqueued import override_broker
from tests.client.samples import add, echo, send


@pytest.fixture
def heard():
    """What the two signals of the client said."""
    said = []

    def enqueued(sender, task, **_):
        said.append(("enqueued", sender.__name__, task.id))

    def failed(sender, task, error, **_):
        said.append(("failed", sender.__name__, task.id, type(error).__name__))

    signals.task_enqueued.connect(enqueued)
    signals.enqueue_failed.connect(failed)
    yield said
    signals.task_enqueued.disconnect(enqueued)
    signals.enqueue_failed.disconnect(failed)


# --- one --------------------------------------------------------------------------------------------------------------


def test_the_store_has_the_task_under_the_id_of_the_handle(store):
    result = send.enqueue(42, subject="hi")

    snapshot = store.get(result.id)
    assert (snapshot.state, snapshot.queue, snapshot.task.task_type) == (State.READY, "mail", send.task_type)
    assert (result.created, result.state, result.queue) == (True, State.READY, "mail")
    assert (result.args, result.kwargs) == ([42], {"subject": "hi"})


def test_the_body_has_the_documented_fields(store):
    body = json.loads(store.get(add.enqueue(1, b=2).id).body)

    assert body["task_type"] == "tests.client.samples.add"
    assert (body["max_retries"], body["attempts"]) == (3, 0)
    assert json.loads(base64.b64decode(body["payload"])) == {"args": [1], "kwargs": {"b": 2}}


@pytest.mark.parametrize(
    "call",
    [
        add.enqueue,
        lambda: add.enqueue(1, 2, 3),
        lambda: add.enqueue(1, c=3),
        lambda: add.enqueue(1, a=1),
        lambda: send.enqueue(1, "subject"),
        lambda: enqueue(add.task_type, kwargs={"c": 1}),
    ],
)
def test_arguments_that_do_not_fit_are_a_type_error_at_the_call(store, call):
    with pytest.raises(TypeError, match=r"^(add|send)\(\) "):
        call()

    assert store.queues() == []


NAMES = ("task", "args", "kwargs", "queue", "self", "delay", "id", "priority", "context", "result", "func")


async def test_arguments_of_any_name_arrive(store):
    named = dict.fromkeys(NAMES, 1)

    assert echo.enqueue(**named).kwargs == named
    assert (await echo.aenqueue(**named)).kwargs == named
    assert echo.call(**named) == [[], named]
    assert await echo.acall(**named) == [[], named]
    assert echo(**named) == [[], named]


def test_arguments_that_cannot_be_carried_store_nothing(store):
    with pytest.raises(InvalidArgument, match=r"kwargs\.when"):
        echo.enqueue(when=object())

    assert store.queues() == []


def test_arguments_over_the_limit_store_nothing(store, settings):
    settings.FORGEQUEUE = {"URL": "memory://", "MAX_PAYLOAD_BYTES": 100}

    with pytest.raises(PayloadTooLarge, match="allows 100"):
        echo.enqueue("ä" * 50)
    with pytest.raises(PayloadTooLarge, match="the payload take 101 bytes"):
        enqueue("raw", b"x" * 101)

    assert store.queues() == []


async def test_async_code_enqueues_too(store):
    one = await add.aenqueue(1)
    other = await aenqueue("elsewhere", b"x", queue_name="far")
    [third] = await aenqueue_many([(add, [2])])

    assert [store.get(each.id).queue for each in (one, other, third)] == ["tasks", "far", "tasks"]


# --- by type ----------------------------------------------------------------------------------------------------------


def test_a_type_that_nobody_handles_here_can_be_enqueued(store):
    result = enqueue("elsewhere", b"\x00\xff", queue_name="far", priority=3)

    stored = store.get(result.id).task
    assert (stored.payload, stored.queue, stored.priority, stored.max_attempts) == (b"\x00\xff", "far", 3, 4)


def test_the_options_of_the_handler_hold_unless_others_are_given(store):
    assert enqueue("tests.raw", b"").queue == "bytes"
    assert enqueue("tests.raw", b"", queue_name="other").queue == "other"
    assert enqueue(send.task_type, args=[1]).task.priority == 7


def test_arguments_by_type_are_those_of_python(store):
    assert enqueue(add.task_type, args=(1,), kwargs={"b": 2}).kwargs == {"b": 2}


@pytest.mark.parametrize(
    ("payload", "options", "words"),
    [
        ("text", {}, "is not bytes"),
        (b"x", {"args": [1]}, "give one of them"),
        (None, {"args": [1]}, "tests.raw is handled as bytes"),
    ],
)
def test_what_does_not_go_with_the_type_is_refused(store, payload, options, words):
    with pytest.raises(InvalidArgument, match=words):
        enqueue("tests.raw", payload, **options)


@pytest.mark.parametrize("task_type", ["", "a b", "x" * 201, 5])
def test_a_type_has_to_be_one(store, task_type):
    with pytest.raises(InvalidName):
        enqueue(task_type, b"")


# --- many -------------------------------------------------------------------------------------------------------------


def test_many_are_enqueued_in_order_each_with_its_handle(store):
    results = enqueue_many([add.prepare(1), (add.using(queue_name="far"), (2,)), (add, [], {"a": 3})])

    assert [each.task.queue for each in results] == ["tasks", "far", "tasks"]
    assert [(each.args, each.kwargs) for each in results] == [([1], {}), ([2], {}), ([], {"a": 3})]
    assert all(store.get(each.id) for each in results)


def test_many_go_in_slices_of_a_thousand(flaky):
    results = enqueue_many((add, (number,)) for number in range(2_500))

    assert [len(call) for call in flaky.calls] == [1000, 1000, 500]
    assert [each.args for each in results] == [[number] for number in range(2_500)]
    assert all(each.created for each in results)


def test_an_item_that_cannot_be_keeps_its_slice_out(flaky):
    items = [*((add, (number,)) for number in range(1_500)), (add, (float("nan"),))]

    with pytest.raises(InvalidArgument, match=r"args\[0\] is nan"):
        enqueue_many(items)

    assert [len(call) for call in flaky.calls] == [1000]


@pytest.mark.parametrize("item", [add, (add, 1), (add, "ab"), (add,), ("add", [1]), 5, (add, [1], {}, 2)], ids=str)
def test_other_items_are_refused(store, item):
    with pytest.raises((InvalidArgument, AttributeError)):
        enqueue_many([item])


def test_nothing_is_nothing(store):
    assert enqueue_many([]) == []


def test_prepared_tasks_can_be_given_again_after_an_error(flaky):
    tasks = [add.prepare(number) for number in range(3)]
    flaky.faults = ["after", "before"]

    with pytest.raises(EnqueueUnknown):
        enqueue_many(tasks)
    again = enqueue_many(tasks)

    assert [each.created for each in again] == [False, False, False]
    assert flaky.broker.stats("tasks").counts[State.READY] == 3


# --- when the store goes away -----------------------------------------------------------------------------------------


def test_an_enqueue_whose_answer_was_lost_is_repeated_once_with_the_same_id(flaky, heard):
    flaky.faults = ["after"]

    result = add.enqueue(1)

    assert flaky.calls == [[result.id], [result.id]]
    assert (result.created, result.state) == (True, State.READY)
    assert flaky.broker.stats("tasks").counts[State.READY] == 1
    assert heard == [("enqueued", "Task", result.id)]


def test_when_the_repeat_fails_too_the_task_may_exist(flaky, heard):
    flaky.faults = ["before", "before"]

    with pytest.raises(EnqueueUnknown) as caught:
        add.enqueue(1)

    assert flaky.calls == [[caught.value.task_id]] * 2
    assert isinstance(caught.value, StoreUnavailable)
    assert heard == []


def test_what_the_store_refuses_is_raised(store):
    class Full:
        def enqueue_many(self, entries):
            raise StoreRefused("OOM command not allowed")

    with override_broker(Full()), pytest.raises(StoreRefused, match="OOM"):
        add.enqueue(1)


# --- idempotency key --------------------------------------------------------------------------------------------------


def test_a_repeat_under_a_key_is_the_same_task(store, heard):
    keyed = send.using(idempotency_key="order-1")

    first, again = keyed.enqueue(1), keyed.enqueue(1)

    assert first.id == again.id
    assert (first.created, again.created) == (True, False)
    assert store.stats("mail").counts[State.READY] == 1
    assert heard == [("enqueued", "Task", first.id)]
    assert again.state is None
    again.refresh()
    assert again.state is State.READY


def test_the_order_of_names_makes_no_other_arguments(store):
    keyed = add.using(idempotency_key="sum")

    assert keyed.enqueue(a=1, b=2).id == keyed.enqueue(b=2, a=1).id


def test_other_arguments_under_a_key_are_an_error(store):
    keyed = send.using(idempotency_key="order-1")
    first = keyed.enqueue(1)

    with pytest.raises(IdempotencyConflict) as caught:
        keyed.enqueue(2)

    assert caught.value.task_id == first.id


def test_a_key_counts_in_its_queue_alone(store):
    keyed = send.using(idempotency_key="order-1")

    assert keyed.enqueue(1).id != keyed.using(queue_name="other").enqueue(2).id


def test_a_key_that_the_store_forgot_while_it_knew_the_task_gets_a_new_id(store, clock):
    keyed = send.using(idempotency_key="order-1")
    first = keyed.enqueue(1)
    clock.advance(86_401)

    second = keyed.enqueue(1)

    assert second.created
    assert second.id != first.id
    assert keyed.enqueue(1).id == second.id
    assert store.stats("mail").counts[State.READY] == 2


@pytest.mark.parametrize("key", ["", "x" * 201, 5], ids=lambda key: str(key)[:3])
def test_a_key_is_text(key):
    with pytest.raises(InvalidName, match="idempotency key"):
        send.using(idempotency_key=key)


def test_many_with_a_conflict_enqueue_the_others(store):
    keyed = send.using(idempotency_key="order-1")
    keyed.enqueue(1)

    with pytest.raises(IdempotencyConflict):
        enqueue_many([(add, (1,)), (keyed, (2,)), (add, (3,))])

    assert store.stats("tasks").counts[State.READY] == 2


# --- signals ----------------------------------------------------------------------------------------------------------


def test_a_receiver_that_fails_stops_nothing(store, caplog):
    def broken(**_):
        raise RuntimeError("receiver")

    signals.task_enqueued.connect(broken)
    try:
        with caplog.at_level(logging.ERROR):
            result = add.enqueue(1)
    finally:
        signals.task_enqueued.disconnect(broken)

    assert store.get(result.id)
    assert "receiver" in caplog.text


def test_an_id_that_the_store_answers_with_is_the_id_of_the_handle(store):
    class Other:
        def enqueue_many(self, entries):
            return [Receipt("other-id", False)]

        def key_generation(self, queue, key):
            return 0

    with override_broker(Other()):
        result = add.using(idempotency_key="x").enqueue(1)

    assert result.id == "other-id"
    with pytest.raises(TaskGone):
        result.refresh()


def test_failures_before_commit_are_not_counted(flaky):
    before = delivery.enqueue_failures()
    flaky.faults = ["before", "before"]

    with pytest.raises(EnqueueUnknown):
        add.enqueue(1)

    assert delivery.enqueue_failures() == before
