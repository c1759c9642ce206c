"""B18: a Redis that may drop keys is told of at the start; nothing of ours has a lifetime that would make it first; and
what it drops all the same shows as a disagreement, not as nothing."""

import subprocess
import sys

import pytest

from queue_app.brokers.redis import connect
from queue_app.brokers.redis.inspection import inspect
from tests.process.rig import Rig
from tests.process.workers import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru"])
def test_b18_a_store_that_may_forget_is_told_of_at_the_start(rig: Rig, policy: str) -> None:
    with rig.engine.client() as client:
        client.config_set("maxmemory-policy", policy)

    worker = rig.workers.start()

    assert f"set maxmemory-policy noeviction instead of {policy}" in worker.wait_for("this Redis drops keys")
    checked = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--tag", "forgequeue"],
        cwd=ROOT,
        env={"PATH": "", "DJANGO_SETTINGS_MODULE": "tests.process.settings", "PROCESS_URL": rig.engine.url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "forgequeue.W004" in checked.stderr


def test_b18_one_that_forgets_nothing_is_not(rig: Rig) -> None:
    worker = rig.workers.start()
    rig.check_liveness()

    assert "drops keys" not in worker.output


def test_b18_no_key_of_ours_has_a_lifetime(rig: Rig) -> None:
    rig.enqueue_many([("work", (), 0.0, {"keep_result": 60.0, "idempotency_key": "k", "priority": 3})])
    rig.enqueue("work", delay=60)
    rig.enqueue("failing", max_retries=-1)
    rig.workers.start()
    rig.check_liveness()

    with rig.engine.client() as client:
        mortal = [key for key in client.scan_iter() if client.ttl(key) != -1]
        assert client.dbsize() > 10
    assert mortal == []


def test_b18_what_it_drops_shows_and_the_others_run(rig: Rig) -> None:
    lost = rig.enqueue("work")
    kept = rig.enqueue("work")
    with rig.engine.client() as client:
        client.delete(f"task:{lost}")

    found = inspect(connect(rig.engine.url))
    rig.workers.start()
    rig.wait_for_end([kept], 10)

    assert found == [f"{lost}: in immediate of tasks without the body task:{lost}"]
    rig.check_liveness()
