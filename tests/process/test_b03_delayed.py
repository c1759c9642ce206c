"""B03: a task that is delayed for longer than a lease runs once, at its time."""

import signal
import time

import pytest

from tests.process.rig import LEASE_SECONDS, Rig, until

pytestmark = pytest.mark.slow

# Full: 200 tasks with delays of 0 to 15 s, 4 workers, one of them restarted each 3 s.
SIZES = [
    pytest.param(60, 4.0, 2, 1.0, id="short"),
    pytest.param(200, 15.0, 4, 3.0, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(300)]),
]


@pytest.mark.parametrize(("count", "longest", "crowd", "every"), SIZES)
def test_b03_delayed_tasks_run_once_and_on_time(rig: Rig, count: int, longest: float, crowd: int, every: float) -> None:
    for _ in range(crowd):
        rig.workers.start()
    delays = [rig.random.uniform(0, longest) for _ in range(count)]
    asked_at = time.monotonic()
    ids = rig.enqueue_many([("work", (), delay, {}) for delay in delays])
    stored_at = time.monotonic()

    restarted = 0
    while not set(ids) <= rig.ledger.ended():
        assert time.monotonic() < stored_at + longest + 3 * LEASE_SECONDS + 2
        if time.monotonic() > stored_at + (restarted + 1) * every:
            restarted += 1
            leaving = next(each for each in rig.workers.all if each.is_alive)
            rig.workers.start()
            leaving.send(signal.SIGTERM)
        time.sleep(0.02)

    rig.check_once(ids)
    starts = rig.ledger.by_task("start")
    late = {each: starts[each][0].at - stored_at - delay for each, delay in zip(ids, delays, strict=True)}
    early = {each: starts[each][0].at - asked_at - delay for each, delay in zip(ids, delays, strict=True)}
    assert min(early.values()) >= -0.001, "never early"
    assert max(late.values()) <= 1.0, "at most a second late"
    assert restarted >= 2
    assert set(rig.workers.stop()) <= {0}
    rig.wait_until_settled()
    rig.check_conservation()


def test_a_delayed_task_wakes_an_idle_worker_by_itself(rig: Rig) -> None:
    rig.workers.start()
    until(lambda: bool(rig.broker.workers()), "the worker said who it is")
    time.sleep(0.2)
    asked_at = time.monotonic()

    task_id = rig.enqueue("work", delay=0.5)

    rig.wait_for_end([task_id], 5)
    (start,) = rig.ledger.entries("start")
    assert 0.5 <= start.at - asked_at < 1.0
