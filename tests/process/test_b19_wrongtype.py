"""B19: a key of another type is named, with its queue; other queues go on, and so does this one once it is gone."""

import time

import pytest

from queue_app.brokers.redis.keys import STRUCTURES
from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow

# What an exchange, a beat and a ring touch at every turn; the full form takes every key there is.
USUAL = ("immediate", "inflight", "marker")
NAMES = [
    *(pytest.param(name, id=name) for name in USUAL),
    *(
        pytest.param(name, id=name, marks=[pytest.mark.scenario_full, pytest.mark.timeout(120)])
        for name in STRUCTURES
        if name not in USUAL
    ),
]


@pytest.mark.parametrize("structure", NAMES)
def test_b19_a_key_of_another_type_is_named_and_other_queues_go_on(rig: Rig, structure: str) -> None:
    worker = rig.workers.start("--queues", "broken,sound", "--concurrency", "2")
    for queue in ("broken", "sound"):
        rig.check_liveness(queue=queue)
    rig.wait_until_settled()
    key = f"queue:broken:{structure}"

    with rig.engine.client() as client:
        client.delete(key)
        client.set(key, "foreign")
        rig.check_liveness(queue="sound")
        time.sleep(1.5)
        rig.check_liveness(queue="sound")
        client.delete(key)

    assert worker.is_alive
    assert "Traceback" not in worker.output
    refusals = [line for line in worker.lines if "store refused" in line]
    assert len(refusals) <= 10, "no flood"
    if structure in ("immediate", "inflight", "holders"):
        assert any(f"{key} is a string" in line and "queue=broken" in line for line in refusals), worker.output
    rig.check_liveness(lease_seconds=12, queue="broken")
    assert rig.workers.stop() == [0]


def test_b19_a_task_that_ran_while_its_queue_broke_is_settled_when_it_is_whole_again(rig: Rig) -> None:
    worker = rig.workers.start("--queues", "broken,sound", "--concurrency", "2", "--lease", "60")
    task_id = rig.enqueue("work", 0.5, queue="broken")
    until(lambda: task_id in rig.ledger.started(), "the task began")

    with rig.engine.client() as client:
        client.rename("queue:broken:leases", "saved")
        client.set("queue:broken:leases", "foreign")
        rig.wait_for_end([task_id], 10)
        worker.wait_for("queue:broken:leases is a string")
        rig.check_liveness(queue="sound")
        client.delete("queue:broken:leases")
        client.rename("saved", "queue:broken:leases")

    until(lambda: rig.broker.find(task_id) is None, "its outcome arrived", 10)
    rig.check_once([task_id])
    assert rig.workers.stop() == [0]
    rig.check_conservation()
