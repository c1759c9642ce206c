"""The broker that the settings choose, and its handlers' contexts."""

import logging
import os
import signal
import threading
import time

import pytest

from queue_app import Context, Reject, Retry, Snooze, State, TaskCancelled, TaskContext, runtime
from queue_app.brokers.memory import MemoryBroker
from queue_app.brokers.redis import connection, embedded
from queue_app.core.errors import ConfigurationError, InvalidArgument, StoreUnavailable
from queue_app.core.task import Task
from tests.client.samples import add, send


@pytest.fixture(autouse=True)
def own_runtime(monkeypatch):
    """What the process had before and after stays as it is."""
    fresh = runtime.Runtime()
    monkeypatch.setattr(runtime, "_runtime", fresh)
    monkeypatch.setattr(runtime, "get_broker", fresh.broker)
    return fresh


# --- the broker -------------------------------------------------------------------------------------------------------


def test_memory_is_one_store_for_the_process(settings, own_runtime):
    settings.FORGEQUEUE = {"URL": "memory://"}

    found = []
    threads = [threading.Thread(target=lambda: found.append(own_runtime.broker())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert isinstance(found[0], MemoryBroker)
    assert all(each is found[0] for each in found)


def test_settings_that_name_no_other_store_keep_it(settings, own_runtime):
    settings.FORGEQUEUE = {"URL": "memory://"}
    before = own_runtime.broker()

    settings.FORGEQUEUE = {"URL": "memory://", "EAGER": True}

    assert own_runtime.broker() is before


@pytest.mark.parametrize("change", [{"URL": "redis://b:1"}, {"PREFIX": "x:"}, {"RETENTION": {"dead": 5}}], ids=str)
def test_settings_that_name_another_let_go_of_it(settings, own_runtime, monkeypatch, change):
    closed = []
    settings.FORGEQUEUE = {"URL": "redis://a:1"}
    before = own_runtime.broker()
    monkeypatch.setattr(before, "close", lambda: closed.append(before))

    settings.FORGEQUEUE = {"URL": "redis://a:1"} | change

    assert own_runtime.broker() is not before
    assert closed == [before]


def test_a_store_that_is_away_raises_when_it_is_used_and_not_before(settings, own_runtime):
    settings.FORGEQUEUE = {"URL": "127.0.0.1:1"}

    broker = own_runtime.broker()

    with pytest.raises(StoreUnavailable):
        broker.now()


def test_a_store_of_a_later_version_is_refused_without_its_password(settings, own_runtime):
    settings.FORGEQUEUE = {"URL": "redis+sentinel://:hunter2@host:1/main"}

    with pytest.raises(ConfigurationError) as caught:
        own_runtime.broker()

    assert "hunter2" not in str(caught.value)


def test_a_child_has_a_broker_of_its_own_and_leaves_its_parents_open(settings, own_runtime, monkeypatch):
    settings.FORGEQUEUE = {"URL": "redis://a:1"}
    before = own_runtime.broker()
    closed = []
    monkeypatch.setattr(before, "close", lambda: closed.append(before))

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert own_runtime.broker() is not before
    assert closed == []


def test_a_fork_while_the_lock_is_held_does_not_stop_the_child(own_runtime):
    own_runtime._lock.acquire()

    own_runtime.after_fork()

    assert own_runtime._lock.acquire(timeout=1)


# --- the embedded engine ----------------------------------------------------------------------------------------------


@pytest.fixture
def engine(settings, tmp_path, embedded_binary):
    settings.FORGEQUEUE = {"URL": "embedded://", "EMBEDDED_DIR": tmp_path / "engine", "PREFIX": "shop:"}
    yield tmp_path / "engine"
    embedded.start(tmp_path / "engine").stop()


def test_the_embedded_engine_is_started_when_it_is_needed(engine, own_runtime):
    with runtime.override(own_runtime.broker()):
        result = send.using(delay=5, idempotency_key="one").enqueue(1, subject="ä")
        again = send.using(delay=5, idempotency_key="one").enqueue(1, subject="ä")
        [many] = [add.enqueue(1)]
        result.refresh()

        assert (engine / "engine.log").exists()
        assert (again.id, again.created) == (result.id, False)
        assert (result.state, result.kwargs) == (State.SCHEDULED, {"subject": "ä"})
        assert own_runtime.broker().queues() == ["mail", "tasks"]
        assert add.get_result(many.id).state is State.READY


def test_a_key_whose_task_outlived_it_gets_a_new_task_on_the_engine(engine, own_runtime, settings):
    settings.FORGEQUEUE = settings.FORGEQUEUE | {"RETENTION": {"idempotency": 0}}
    keyed = send.using(idempotency_key="one")

    with runtime.override(own_runtime.broker()):
        first = keyed.enqueue(1)
        second = keyed.enqueue(1)

    assert second.created
    assert second.id != first.id


def test_an_embedded_engine_that_died_is_started_again_by_the_next_call(engine, own_runtime):
    with runtime.override(own_runtime.broker()):
        [result] = [add.enqueue(1)]
        died = embedded.start(engine).pid
        os.kill(died, signal.SIGKILL)

        again = add.enqueue(2)

        assert embedded.start(engine).pid not in (died, None)
        assert [add.get_result(each.id).state for each in (result, again)] == [State.READY, State.READY]


def test_those_who_find_an_engine_dead_at_once_do_not_take_each_other_for_it(engine):
    embedded.start(engine).stop()
    said = []

    def look():
        said.extend(embedded._is_alive(engine) for _ in range(1_000))

    together = [threading.Thread(target=look) for _ in range(4)]
    for each in together:
        each.start()
    for each in together:
        each.join()

    assert said == [False] * 4_000


def test_an_embedded_engine_that_does_not_answer_is_left_alone(engine, own_runtime, monkeypatch):
    broker = own_runtime.broker()
    runs = embedded.start(engine).pid
    monkeypatch.setattr(connection, "COMMAND_TIMEOUT_SECONDS", 0.2)
    slow = embedded.EmbeddedConnection(engine)
    os.kill(runs, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable):
            slow.command("PING")
    finally:
        os.kill(runs, signal.SIGCONT)

    assert embedded.start(engine).pid == runs
    assert broker.queues() == []


# --- context and steering ---------------------------------------------------------------------------------------------

TASK = Task(id="t1", task_type="mail.send", queue="mail", attempts=2, max_retries=2)


def test_a_context_tells_what_runs():
    context = Context(TASK, "worker-1")

    assert (context.id, context.task_type, context.queue, context.worker) == ("t1", "mail.send", "mail", "worker-1")
    assert (context.attempt, context.max_attempts, context.is_last_attempt) == (3, 3, True)
    assert repr(context) == "<Context task=t1 type=mail.send attempt=3>"
    assert TaskContext is Context


def test_a_handler_learns_that_it_should_end():
    context = Context(TASK)
    context.heartbeat()
    assert not context.cancelled

    context.cancel("lost")
    context.cancel("shutdown")

    assert (context.cancelled, context.cancel_reason) == (True, "lost")
    for call in (context.heartbeat, context.raise_if_cancelled):
        with pytest.raises(TaskCancelled, match="lost"):
            call()


def test_a_wait_ends_when_the_handler_should():
    context = Context(TASK)
    assert not context.wait(0)

    threading.Timer(0.05, context.cancel).start()
    before = time.monotonic()

    assert context.wait(10)
    assert time.monotonic() - before < 5


def test_a_line_of_its_logger_says_what_it_is_about(caplog):
    with caplog.at_level(logging.INFO, "forgequeue.task"):
        Context(TASK).logger.info("sent to %s", "a@b.c")

    assert caplog.messages == ["sent to a@b.c task=t1 type=mail.send queue=mail attempt=3"]


def test_a_type_that_looks_like_a_format_breaks_no_line(caplog):
    foreign = Task(id="t1", task_type="100%s")

    with caplog.at_level(logging.INFO, "forgequeue.task"):
        Context(foreign).logger.info("sent %d", 1)

    assert "sent 1 task=t1 type=100?s" in caplog.text


@pytest.mark.parametrize(
    ("raised", "after", "text"),
    [
        (Retry(), None, "retry"),
        (Retry(after=5), 5.0, "retry after 5 s"),
        (Retry(after=-5), 0.0, "retry after 0 s"),
        (Snooze(after=2.5), 2.5, "snooze for 2.5 s"),
        (Snooze(5, "too early"), 5.0, "too early"),
    ],
    ids=repr,
)
def test_steering_carries_seconds_and_words(raised, after, text):
    assert (raised.after, str(raised)) == (after, text)


@pytest.mark.parametrize("after", ["5", float("nan"), True], ids=repr)
def test_steering_refuses_what_is_no_time(after):
    with pytest.raises(InvalidArgument, match="after="):
        Retry(after=after)
    with pytest.raises(InvalidArgument, match="after="):
        Snooze(after=after)


def test_a_rejection_has_a_reason():
    assert (str(Reject("no such user")), str(Reject())) == ("no such user", "rejected")
