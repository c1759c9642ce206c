"""B30: very many tasks that fall due in the same moment are promoted in slices, once each; other queues keep moving."""

import time

import pytest

from queue_app.brokers.redis.scripts import load
from queue_app.brokers.redis.scripts import names as names_of_scripts
from tests.process.rig import Rig

pytestmark = pytest.mark.slow

SLICE = 5_000
# Full: 300,000 tasks and 8 workers, and no call of Redis above 50 ms.
SIZES = [
    pytest.param(4_000, 2, 2.0, None, id="short"),
    pytest.param(300_000, 8, 30.0, 50_000, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(900)]),
]


def called(command: bytes) -> str:
    """A command as the slow log has it, with the name of its script."""
    names = {load(name).sha: name for name in names_of_scripts()}
    words = command.decode(errors="replace").split()
    return f"{words[0]} {names.get(words[1], words[1])}"


@pytest.mark.parametrize(("count", "crowd", "lead", "slowest_us"), SIZES)
def test_b30_a_herd_is_promoted_in_slices(
    rig: Rig, count: int, crowd: int, lead: float, slowest_us: int | None
) -> None:
    with rig.engine.client() as client:
        # Below 0 the log is off.
        client.config_set("slowlog-log-slower-than", slowest_us or -1)
    due_at = time.monotonic() + lead
    herd: list[str] = []
    for first in range(0, count, SLICE):
        delay = max(due_at - time.monotonic(), 0.0)
        herd += rig.enqueue_many([("tick", (), delay, {})] * min(SLICE, count - first))
    for _ in range(crowd):
        rig.workers.start("--queues", "tasks,other")
    time.sleep(max(due_at - time.monotonic(), 0.0))

    rig.check_liveness(lease_seconds=10, queue="other")
    rig.wait_for_end(herd, 60 + count / 1_000)

    ends = rig.ledger.by_task("end")
    assert all(len(ends[each]) == 1 for each in herd), "once each"
    with rig.engine.client() as client:
        assert [(each["duration"], called(each["command"])) for each in client.slowlog_get(100)] == []
    assert set(rig.workers.stop()) == {0}
    rig.wait_until_settled(30)
    rig.check_conservation()
