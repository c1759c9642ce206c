"""B11: an engine that goes away and comes back finds every worker at work again, without anybody's help."""

import time
from collections.abc import Callable

import pytest

from tests.process.rig import LEASE_SECONDS, Rig, until
from tests.process.workers import WorkerProcess

pytestmark = pytest.mark.slow

DOWN_SECONDS = [
    pytest.param(1.0, id="short"),
    pytest.param(30.0, id="30 s", marks=[pytest.mark.scenario_full, pytest.mark.timeout(300)]),
    pytest.param(300.0, id="5 min", marks=[pytest.mark.scenario_full, pytest.mark.timeout(900)]),
]


@pytest.fixture
def worker(rig: Rig) -> WorkerProcess:
    worker = rig.workers.start("--concurrency", "2")
    rig.check_liveness()
    return worker


def down(rig: Rig, worker: WorkerProcess, seconds: float) -> float:
    """Kill the engine and start it again. The part of a core that the worker used meanwhile."""
    rig.engine.kill()
    before, began = worker.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    used, took = worker.cpu_seconds() - before, time.monotonic() - began
    rig.engine.start()
    return used / took


@pytest.mark.parametrize("seconds", DOWN_SECONDS)
def test_b11_the_engine_restarts_while_the_worker_is_idle(rig: Rig, worker: WorkerProcess, seconds: float) -> None:
    load = down(rig, worker, seconds)

    rig.check_liveness()
    assert load < 0.05 or seconds < 5, "a worker without an engine uses next to nothing"
    # The supervisor and its runner each have a voice.
    assert len([line for line in worker.lines if "store unavailable" in line]) <= 2 * (1 + seconds / 30)
    assert worker.wait_for("store answers again")
    assert "Traceback" not in worker.output
    assert rig.workers.stop() == [0]
    rig.check_conservation()


@pytest.mark.parametrize("seconds", DOWN_SECONDS)
def test_b11_the_engine_restarts_under_a_running_task(rig: Rig, worker: WorkerProcess, seconds: float) -> None:
    """Inflight tasks at Redis restart: leases expire in real time; recovery handles them after downtime."""
    task_id = rig.enqueue("work", seconds + 0.5)
    until(lambda: task_id in rig.ledger.started(), "the task began")

    down(rig, worker, seconds)

    rig.wait_for_end([task_id], seconds + 30)
    rig.check_liveness()
    rig.wait_until_settled(60)
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_b11_a_short_outage_costs_a_running_task_nothing(rig: Rig) -> None:
    rig.workers.start("--concurrency", "2", "--lease", "10")
    task_id = rig.enqueue("work", 2.0)
    until(lambda: task_id in rig.ledger.started(), "the task began")

    rig.engine.kill()
    time.sleep(0.5)
    rig.engine.start()

    rig.wait_for_end([task_id], 10)
    rig.wait_until_settled()
    rig.check_once([task_id])
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_b11_the_engine_is_killed_again_and_again_under_load(rig: Rig, worker: WorkerProcess) -> None:
    for _ in range(3):
        rig.enqueue_many([("work", (0.005,), 0.0, {})] * 50)
        time.sleep(rig.random.uniform(0.05, 0.3))
        rig.engine.kill()
        rig.engine.start()

    rig.wait_for_end(rig.enqueued, 60)
    rig.check_liveness()
    rig.wait_until_settled()
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def kill_clients(rig: Rig) -> None:
    with rig.engine.client() as client:
        for _ in range(5):
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            time.sleep(0.05)


def pause_clients(rig: Rig) -> None:
    with rig.engine.client() as client:
        client.execute_command("CLIENT", "PAUSE", 1_500)
    time.sleep(1.5)


def change_the_password(rig: Rig) -> None:
    with rig.engine.client() as client:
        client.config_set("requirepass", "another")
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        time.sleep(0.5)
        client.config_set("requirepass", "")


@pytest.mark.parametrize("fault", [kill_clients, pause_clients, change_the_password])
def test_b11_faults_that_are_no_restart(rig: Rig, worker: WorkerProcess, fault: Callable[[Rig], None]) -> None:
    running = rig.enqueue("work", 1.0)
    until(lambda: running in rig.ledger.started(), "the task began")

    fault(rig)

    rig.check_liveness()
    rig.wait_for_end([running], 3 * LEASE_SECONDS + 5)
    rig.wait_until_settled()
    assert worker.is_alive
    assert "Traceback" not in worker.output
    assert rig.workers.stop() == [0]
    rig.check_conservation()
