"""B44: any number goes in bounded steps: bulk enqueues, bulk changes, a long run of dead entries, and orphans."""

import time

import pytest

from queue_app import enqueue_many
from queue_app.core import policy
from queue_app.core.answers import Enqueue
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.management.verbs import VERBS
from queue_app.runtime import override
from tests.process import tasks
from tests.process.rig import Rig

pytestmark = pytest.mark.slow


def full(*values: int, seconds: int = 600) -> object:
    return pytest.param(*values, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(seconds)])


@pytest.mark.parametrize("count", [1, 7_999, 8_000, full(100_000)])
def test_b44_any_number_is_enqueued_in_one_call(rig: Rig, count: int) -> None:
    with override(rig.broker):
        results = enqueue_many((tasks.tick, ()) for _ in range(count))

    assert len({each.id for each in results}) == count
    assert rig.broker.stats("tasks").counts[State.READY] == count


@pytest.mark.parametrize("count", [3_000, full(100_000)])
def test_b44_any_number_is_changed_by_one_command(rig: Rig, count: int) -> None:
    rig.enqueue_many([("tick", (), 0.0, {})] * count)
    said: list[str] = []
    out = type("Out", (), {"write": staticmethod(said.append)})
    verbs = {verb.name: verb for verb in VERBS}
    options = {"ids": [], "all": True, "queue": None, "state": None, "yes": True, "json": False}

    for name in ("cancel", "retry", "delete"):
        verbs[name].run(rig.broker, options, out)

    assert said == [f"{count:,} tasks cancelled", f"{count:,} tasks ready", f"{count:,} tasks deleted"]
    rig.enqueued.clear()
    rig.check_conservation()


@pytest.mark.parametrize("count", [3_000, full(20_000)])
@pytest.mark.parametrize("kind", ["cancelled", "expired"])
def test_b44_a_long_run_of_dead_entries_does_not_keep_a_good_task(rig: Rig, kind: str, count: int) -> None:
    past = {"expires_at": time.time() - 60} if kind == "expired" else {}
    bad = rig.enqueue_many([("tick", (), 0.0, past)] * count)
    good = rig.enqueue("tick")
    if kind == "cancelled":
        for task_id in bad:
            rig.broker.cancel(task_id)

    rig.workers.start()
    rig.wait_for_end([good], 2 + count / 2_000)

    assert not set(bad) & rig.ledger.started()


@pytest.mark.parametrize("count", [2_000, full(50_000)])
def test_b44_any_number_of_orphans_is_reclaimed_in_slices(rig: Rig, count: int) -> None:
    entries = [Enqueue(task=Task(id=f"o{number}", task_type="x", max_retries=3)) for number in range(count)]
    for first in range(0, count, 1_000):
        rig.broker.enqueue_many(entries[first : first + 1_000])
    for number in range(0, count, 500):
        rig.broker.claim("tasks", holder=f"gone:{number}", limit=500, lease_seconds=0.1)
    time.sleep(0.2)

    rounds, more = 0, True
    while more:
        moved = rig.broker.reclaim("tasks", lambda claimed: policy.after_lost_worker(claimed, at=1.0))
        rounds, more = rounds + 1, moved.more
        assert moved.count <= 100

    assert rounds >= count // 100
    assert rig.broker.stats("tasks").counts[State.RETRYING] == count
