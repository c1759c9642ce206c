"""B12: scripts that the engine has forgotten are sent again; nobody sees it, and nothing runs twice for it."""

import threading
import time

import pytest

from tests.process.rig import Rig

pytestmark = pytest.mark.slow

SIZES = [
    pytest.param(3.0, 0.02, id="short"),
    pytest.param(10.0, 0.1, id="full", marks=[pytest.mark.scenario_full, pytest.mark.timeout(300)]),
]


@pytest.mark.parametrize(("seconds", "every"), SIZES)
def test_b12_the_engine_forgets_its_scripts_all_the_time(rig: Rig, seconds: float, every: float) -> None:
    workers = [rig.workers.start("--concurrency", "2") for _ in range(2)]
    over = threading.Event()

    def flush() -> None:
        with rig.engine.client() as client:
            while not over.wait(every):
                client.script_flush()

    flusher = threading.Thread(target=flush)
    flusher.start()
    try:
        beat = time.monotonic()
        for _ in range(int(seconds * 20)):
            rig.enqueue_many([("work", (), rig.random.choice([0.0, 0.2]), {}) for _ in range(10)], again=False)
            beat += 0.05
            time.sleep(max(beat - time.monotonic(), 0))
        rig.wait_for_end(rig.enqueued, 30)
    finally:
        over.set()
        flusher.join()

    rig.wait_until_settled()
    rig.check_once()
    assert rig.workers.stop() == [0, 0]
    for worker in workers:
        assert "NOSCRIPT" not in worker.output
        assert "Traceback" not in worker.output
    rig.check_conservation()
