"""Database connections, caches and signals around an attempt."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import caches
from django.db import connections, transaction

from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.signals import task_failed, task_finished, task_started
from queue_app.worker import hygiene
from tests.worker.kit import Kit


def on_a_slots_thread(kit: Kit, then: Callable[[], None] = lambda: None) -> None:
    """Let the slot work as it does: on a thread of its own, from its begin to its end."""
    errors: list[AssertionError] = []

    def run() -> None:
        kit.slot.context = hygiene.begin_thread()
        try:
            kit.work()
            then()
        except AssertionError as error:
            errors.append(error)
        finally:
            hygiene.end_thread()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often connections are looked at."""
    looks: list[int] = []
    real = hygiene.close_old_connections
    monkeypatch.setattr(hygiene, "close_old_connections", lambda: (looks.append(1), real()))
    return looks


@pytest.fixture
def database(django_db_blocker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A database that can be closed, which one in memory cannot; its settings."""
    name = str(tmp_path / "db.sqlite3")
    settings = {**connections.settings["default"], "NAME": name, "CONN_MAX_AGE": 0}
    monkeypatch.setitem(connections.settings, "scratch", settings)
    with django_db_blocker.unblock():
        yield settings


def query() -> None:
    with connections["scratch"].cursor() as cursor:
        cursor.execute("SELECT 1")


def close_for_good() -> None:
    """Of this thread. Django does not close one in memory, and Python tells of that wherever it happens to notice."""
    connections["scratch"].connection.close()


def test_tasks_that_use_no_database_cost_no_look_at_connections(kit: Kit, looks: list[int]) -> None:
    for _ in range(3):
        kit.enqueue()

    on_a_slots_thread(kit)

    assert len(kit.ran) == 3
    assert looks == []


def test_a_connection_that_closes_after_its_task_is_looked_at_once(
    kit: Kit, looks: list[int], database: dict[str, Any]
) -> None:
    kit.handle("query", query)
    kit.enqueue("query")
    kit.enqueue()

    on_a_slots_thread(kit)

    assert len(looks) == 1


def test_a_connection_that_may_stay_is_looked_at_around_every_task(
    kit: Kit, looks: list[int], database: dict[str, Any]
) -> None:
    database["CONN_MAX_AGE"] = None
    kit.handle("query", query)
    kit.enqueue("query")
    kit.enqueue()

    on_a_slots_thread(kit)

    assert len(looks) == 3


@pytest.mark.parametrize("name", ["on disk", "file:scratch?mode=memory&cache=shared"])
def test_a_transaction_that_a_handler_left_open_does_not_reach_the_next_tasks(
    kit: Kit, database: dict[str, Any], name: str
) -> None:
    database["CONN_MAX_AGE"] = None
    if name != "on disk":
        database["NAME"] = name
    seen: list[tuple[bool, bool]] = []

    def leaves_open() -> None:
        transaction.atomic("scratch").__enter__()
        query()

    def looks() -> None:
        query()
        seen.append((connections["scratch"].in_atomic_block, connections["scratch"].get_autocommit()))

    kit.handle("leaves open", leaves_open)
    kit.handle("looks", looks)
    for task_type in ("leaves open", "looks", "looks"):
        kit.enqueue(task_type)

    on_a_slots_thread(kit, close_for_good)

    assert seen == [(False, True), (False, True)]


def test_a_thread_that_ends_leaves_no_connection(kit: Kit, database: dict[str, Any]) -> None:
    database["CONN_MAX_AGE"] = None
    opened: list[Any] = []
    kit.handle("query", lambda: (query(), opened.append(connections["scratch"])))
    kit.enqueue("query")

    on_a_slots_thread(kit, lambda: opened.append(opened[0].connection is not None))

    assert opened[1] is True
    assert opened[0].connection is None


def test_cache_backends_are_made_once_a_thread_and_not_once_a_task(kit: Kit) -> None:
    seen: list[int] = []
    kit.handle("cache", lambda: seen.append(id(caches["default"])))
    for _ in range(3):
        kit.enqueue("cache")

    on_a_slots_thread(kit)

    assert len(set(seen)) == 1


# --- signals ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def heard() -> Iterator[list[tuple[Any, ...]]]:
    heard: list[tuple[Any, ...]] = []

    def started(sender: type[Task], task: Task, worker: str, **_: Any) -> None:
        heard.append(("started", task.id, task.attempt, worker))

    def failed(sender: type[Task], task: Task, error: BaseException, state: State, **_: Any) -> None:
        heard.append(("failed", task.id, type(error).__name__, state))

    def finished(sender: type[Task], task: Task, state: State, seconds: float, **_: Any) -> None:
        heard.append(("finished", task.id, state, seconds))

    receivers = ((task_started, started), (task_failed, failed), (task_finished, finished))
    for signal, receiver in receivers:
        signal.connect(receiver)
    yield heard
    for signal, receiver in receivers:
        signal.disconnect(receiver)


def test_a_success_is_signalled(kit: Kit, heard: list[tuple[Any, ...]]) -> None:
    task_id = kit.enqueue()

    kit.work()

    assert heard == [("started", task_id, 1, "w1"), ("finished", task_id, State.SUCCEEDED, 0.0)]


@pytest.mark.parametrize(("retries", "state"), [(3, State.RETRYING), (-1, State.DEAD)])
def test_a_failure_is_signalled(kit: Kit, heard: list[tuple[Any, ...]], retries: int, state: State) -> None:
    kit.handle("fail", lambda: (kit.time.advance(2), 1 / 0))
    task_id = kit.enqueue("fail", max_retries=retries)

    kit.work()

    assert heard == [
        ("started", task_id, 1, "w1"),
        ("failed", task_id, "ZeroDivisionError", state),
        ("finished", task_id, state, 2.0),
    ]


@pytest.mark.filterwarnings("ignore")
def test_a_receiver_that_fails_stops_nothing(kit: Kit) -> None:
    def fails(**_: Any) -> None:
        raise RuntimeError("a listener of somebody's")

    task_id = kit.enqueue()
    task_started.connect(fails)
    try:
        kit.work()
    finally:
        task_started.disconnect(fails)

    assert kit.ran == [task_id]
    assert kit.state(task_id) is None


def test_a_connection_that_an_async_handler_opened_is_closed_after_it(kit: Kit, database: dict[str, Any]) -> None:
    seen: list[Any] = []

    async def handler() -> None:
        await sync_to_async(query)()
        seen.append(await sync_to_async(lambda: connections["scratch"])())

    async def looks() -> None:
        seen.append(seen[0].connection)

    kit.handle("query", handler, is_async=True)
    kit.handle("looks", looks, is_async=True)
    kit.enqueue("query")
    kit.enqueue("looks")

    kit.work()

    assert seen[1] is None
    kit.worker.runner.lane.close()
