"""Is every task in exactly one place? A walk over a whole store through the public methods of any broker.

It reads one thing after another, so nothing may move meanwhile.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from queue_app.brokers.base import MAX_BATCH, Broker
from queue_app.core.answers import Snapshot
from queue_app.core.states import State


def assert_conserved(broker: Broker, task_ids: Iterable[str] | None = None) -> None:
    """Raises AssertionError with everything that disagrees: lists, counts, `find`, and `task_ids` where given.

    `task_ids` are those that the store must hold, in any state: no more, no fewer.
    """
    found = [snapshot for queue in broker.queues() for snapshot in walk(broker, queue)]
    problems = [*_twice(found), *_found_otherwise(broker, found), *_counted_otherwise(broker, found)]
    if task_ids is not None:
        problems += _missing_or_unasked({snapshot.id for snapshot in found}, set(task_ids))
    if problems:
        raise AssertionError("\n".join(problems))


def walk(broker: Broker, queue: str) -> Iterator[Snapshot]:
    """Every task of a queue, by state."""
    for state in State:
        yield from list_all(broker, queue, state)


def list_all(broker: Broker, queue: str, state: State, *, page_size: int = MAX_BATCH) -> list[Snapshot]:
    """Every task of one state, read page by page."""
    snapshots: list[Snapshot] = []
    cursor = None
    while True:
        page = broker.list_tasks(queue, state, cursor=cursor, limit=page_size)
        snapshots += page.snapshots
        if page.cursor is None:
            return snapshots
        cursor = page.cursor


def _twice(found: list[Snapshot]) -> Iterator[str]:
    for task_id, times in Counter(snapshot.id for snapshot in found).items():
        if times > 1:
            places = ", ".join(f"{each.state} in {each.queue}" for each in found if each.id == task_id)
            yield f"{task_id} is listed {times} times: {places}"


def _found_otherwise(broker: Broker, listed: list[Snapshot]) -> Iterator[str]:
    for snapshot in listed:
        found = broker.find(snapshot.id)
        if found is None:
            yield f"{snapshot.id} is listed as {snapshot.state} in {snapshot.queue} and not found"
        elif _place(found) != _place(snapshot):
            yield f"{snapshot.id} is listed as {_place(snapshot)} and found as {_place(found)}"


def _place(snapshot: Snapshot) -> tuple[str, str, float | None, bytes]:
    return snapshot.queue, snapshot.state.value, snapshot.at, snapshot.body


def _counted_otherwise(broker: Broker, listed: list[Snapshot]) -> Iterator[str]:
    by_place = Counter((snapshot.queue, snapshot.state) for snapshot in listed)
    for queue in broker.queues():
        for state, count in broker.stats(queue).counts.items():
            if count != by_place[queue, state]:
                yield f"{queue} counts {count} {state} tasks and lists {by_place[queue, state]}"


def _missing_or_unasked(found: set[str], expected: set[str]) -> Iterator[str]:
    yield from (f"{task_id} is missing" for task_id in sorted(expected - found))
    yield from (f"{task_id} should not be there" for task_id in sorted(found - expected))
