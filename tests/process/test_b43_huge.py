"""B43: what is over a limit is refused at the door with both sizes, and nothing is stored; what is over one on the way
back is cut with a mark, and the task does not fail for it."""

import pytest

from queue_app import arguments
from queue_app.core.errors import PayloadTooLarge
from queue_app.core.states import State
from queue_app.runtime import override
from tests.process import tasks
from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow

LIMIT = 1_048_576
AROUND = len(arguments.encode(("",), {}, LIMIT))
SIZES = [
    pytest.param(30, id="short"),
    pytest.param(1_000, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(600)]),
]


@pytest.mark.parametrize("letter", ["x", "ü", "𝄞"])
def test_b43_the_limit_is_in_bytes_to_the_byte(rig: Rig, letter: str) -> None:
    size = len(letter.encode())
    room = LIMIT - AROUND
    fits = letter * (room // size) + "x" * (room % size)

    with override(rig.broker):
        result = tasks.doubled.using(keep_result=60).enqueue(fits)
        with pytest.raises(PayloadTooLarge, match=r"1,048,577|1048577"):
            tasks.doubled.enqueue(fits + "x")

    assert rig.broker.stats("tasks").counts[State.READY] == 1
    worker = rig.workers.start("--burst", wait=False)
    assert worker.wait() == 0
    # What it returned is longer still: the task has succeeded, and a note stands in for the result.
    snapshot = rig.broker.get(result.id)
    assert snapshot.state is State.SUCCEEDED
    assert len(snapshot.result or b"") < 10_000


@pytest.mark.parametrize("count", SIZES)
def test_b43_many_huge_ones_are_claimed_in_bounds_listed_and_run(rig: Rig, count: int) -> None:
    body = "x" * (LIMIT - AROUND)
    ids = [rig.enqueue("swallow", body) for _ in range(count)]

    page = rig.broker.list_tasks("tasks", State.READY, limit=20)
    claimed = rig.broker.claim("tasks", holder="looks", limit=1_000)

    assert [each.id for each in page.snapshots] == ids[:20]
    assert 1 <= len(claimed) <= 4, "a claim stops at 4 MiB"
    rig.broker.abandon("tasks", ["looks"])
    rig.workers.start()
    rig.wait_for_end(ids, 30 + count / 10)
    rig.wait_until_settled(30)
    rig.check_once(ids)


def test_b43_an_error_without_end_is_cut_with_a_mark(rig: Rig) -> None:
    task_id = rig.enqueue("complain", 5_000_000, max_retries=-1)
    rig.workers.start()

    until(lambda: rig.broker.get(task_id).state is State.DEAD, "it is dead", 20)

    error = rig.broker.get(task_id).task.last_error
    assert "characters left out" in error.message
    assert len(error.message) <= 2_100
    rig.check_liveness()
