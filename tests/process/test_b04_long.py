"""B04: a task that runs for many leases runs once, while its worker is healthy and others look on."""

import time

import pytest

from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow

SIZES = [
    pytest.param(4.0, 1.0, 6, id="short"),
    pytest.param(30.0, 2.0, 10, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(120)]),
]


@pytest.mark.parametrize("name", ["compute", "work"])
@pytest.mark.parametrize(("seconds", "lease", "renewals"), SIZES)
def test_b04_a_long_task_is_not_delivered_again(
    rig: Rig, name: str, seconds: float, lease: float, renewals: int
) -> None:
    rig.workers.start("--lease", str(lease))
    task_id = rig.enqueue(name, seconds)
    until(lambda: task_id in rig.ledger.started(), "it began")
    rig.workers.start("--lease", str(lease))
    deadlines: set[float | None] = set()

    while task_id not in rig.ledger.ended():
        snapshot = rig.broker.find(task_id)
        deadlines |= {snapshot.at} if snapshot else set()
        time.sleep(0.02)

    rig.wait_until_settled()
    rig.check_once([task_id])
    assert len(deadlines) > renewals
    assert rig.workers.stop() == [0, 0]
    rig.check_conservation()
