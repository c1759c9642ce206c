"""B26: the store's clock decides; a worker whose own clock is wrong, or jumps, is neither early nor late, and nobody
loses a lease over it."""

import time

import pytest

from tests.process.rig import LEASE_SECONDS, Rig, until

pytestmark = pytest.mark.slow

# Full: 60 delayed tasks over 20 s.
SIZES = [
    pytest.param(20, 3.0, id="short"),
    pytest.param(60, 20.0, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(300)]),
]


@pytest.mark.parametrize(("count", "longest"), SIZES)
def test_b26_clocks_that_are_wrong_or_jump_change_nothing(rig: Rig, count: int, longest: float) -> None:
    behind, ahead = rig.workers.start(PROCESS_CLOCK="-600"), rig.workers.start(PROCESS_CLOCK="600")
    jumps = rig.workers.start(PROCESS_CLOCK="jump")
    delays = [rig.random.uniform(0, longest) for _ in range(count)]
    asked_at = time.monotonic()
    delayed = rig.enqueue_many([("work", (), delay, {}) for delay in delays])
    stored_at = time.monotonic()
    long = rig.enqueue_many([("work", (3 * LEASE_SECONDS,), 0.0, {})] * 6)
    failing = rig.enqueue("failing", backoff=None, max_retries=1)

    rig.wait_for_end([*delayed, *long], longest + 20)
    until(lambda: len(rig.ledger.by_task("start")[failing]) == 2, "it was retried", 10)

    rig.check_once([*delayed, *long])
    starts = rig.ledger.by_task("start")
    for task_id, delay in zip(delayed, delays, strict=True):
        assert starts[task_id][0].at - asked_at >= delay - 0.001, "never early"
    late = sorted(starts[each][0].at - stored_at - delay for each, delay in zip(delayed, delays, strict=True))
    assert late[len(late) // 2] < 3 * LEASE_SECONDS + 1.0, "not late for more than the slots are busy"
    assert all(each.is_alive for each in (behind, ahead, jumps))
    assert rig.workers.stop() == [0, 0, 0]
    rig.wait_until_settled()
    rig.check_conservation()


def test_b26_ages_and_times_are_the_stores(rig: Rig) -> None:
    rig.workers.start(PROCESS_CLOCK="600")
    task_id = rig.enqueue("failing", max_retries=-1)
    until(lambda: bool(snapshot := rig.broker.find(task_id)) and snapshot.state == "dead", "it died", 10)

    snapshot = rig.broker.get(task_id)
    error = snapshot.task.last_error

    assert abs(error.at - time.time()) < 60
    assert abs((snapshot.at or 0.0) - time.time()) < 60
