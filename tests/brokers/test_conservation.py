"""The checker finds what it is for: each lie of a broker is named."""

import msgspec
import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.core.answers import Page
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.clock import FakeClock
from queue_app.testing.conservation import assert_conserved, list_all, walk


class LyingBroker(MemoryBroker):
    """Tells the truth but for what a test makes it say."""

    hidden = ""
    doubled = ""
    moved = ""
    miscounted = 0

    def find(self, task_id):
        snapshot = super().find(task_id)
        if task_id == self.hidden:
            return None
        return msgspec.structs.replace(snapshot, state=State.DEAD) if task_id == self.moved else snapshot

    def list_tasks(self, queue, state, *, cursor=None, limit=50):
        page = super().list_tasks(queue, state, cursor=cursor, limit=limit)
        again = [snapshot for snapshot in page.snapshots if snapshot.id == self.doubled]
        return Page(page.snapshots + again, page.cursor)

    def stats(self, queue):
        stats = super().stats(queue)
        counts = stats.counts | {State.READY: stats.counts[State.READY] + self.miscounted}
        return msgspec.structs.replace(stats, counts=counts)


@pytest.fixture
def broker():
    broker = LyingBroker(clock=FakeClock())
    for number, queue in enumerate(("a", "a", "b")):
        broker.enqueue(Task(id=f"t{number}", task_type="x", queue=queue))
    broker.claim("a", holder="w:1")
    return broker


ALL = {"t0", "t1", "t2"}


def test_a_store_in_good_order_passes(broker):
    assert_conserved(broker)
    assert_conserved(broker, ALL)


@pytest.mark.parametrize(
    ("lie", "told"),
    [
        ({"hidden": "t1"}, "t1 is listed as ready in a and not found"),
        ({"moved": "t0"}, r"t0 is listed as \('a', 'running', .*\) and found as \('a', 'dead'"),
        ({"doubled": "t2"}, "t2 is listed 2 times: ready in b, ready in b"),
        ({"miscounted": 1}, "a counts 2 ready tasks and lists 1"),
    ],
)
def test_a_lie_is_named(broker, lie, told):
    vars(broker).update(lie)

    with pytest.raises(AssertionError, match=told):
        assert_conserved(broker)


def test_a_task_that_should_be_there_and_is_not_is_named(broker):
    with pytest.raises(AssertionError, match="t9 is missing"):
        assert_conserved(broker, {*ALL, "t9"})


def test_a_task_that_should_not_be_there_and_is_is_named(broker):
    with pytest.raises(AssertionError, match="t2 should not be there"):
        assert_conserved(broker, ALL - {"t2"})


def test_everything_that_is_wrong_is_told_at_once(broker):
    broker.hidden, broker.miscounted = "t1", 2

    with pytest.raises(AssertionError) as caught:
        assert_conserved(broker, {*ALL, "t9"})

    assert len(str(caught.value).splitlines()) == 4


def test_a_walk_goes_through_every_state_and_page(broker):
    assert {snapshot.id for snapshot in walk(broker, "a")} == {"t0", "t1"}
    assert [snapshot.id for snapshot in list_all(broker, "a", State.READY, page_size=1)] == ["t1"]
