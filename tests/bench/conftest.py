"""Results, a real server, and a place to measure in."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import engine
from bench.engine import Engine
from bench.marks import MarksFile
from bench.measures.base import Lab
from bench.results import Results
from tests.bench.samples import HEADER, drained, record


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A new file of results."""
    return Results.begin(tmp_path / "results.jsonl", HEADER)


@pytest.fixture
def full_results(results: Results) -> Results:
    """Everything measured twice, every goal met."""
    rates = {
        "ours": 60_000,
        "ours-p2": 75_000,
        "ours-b16": 40_000,
        "ours-b1": 8_000,
        "bullmq-c50": 24_000,
        "bullmq-c4": 16_000,
    }
    for contender, rate in (rates | {"dramatiq": 9_000, "huey": 8_000, "floor": 120_000}).items():
        results.add(drained(contender, rate - 100))
        results.add(drained(contender, rate + 100))
    for _ in range(2):
        for contender, p50, p99 in (("ours", 0.7, 1.9), ("huey", 0.9, 9.0), ("floor", 0.5, 1.0)):
            results.add(record(f"latency/{contender}", p50_ms=p50, p99_ms=p99, max_ms=10.0, tasks=200))
        for contender, single in (("ours", 9_000), ("bullmq-c4", 10_000), ("floor", 10_500)):
            results.add(record(f"enqueue/{contender}", tasks_per_s=single, tasks=5_000))
        for contender, bulk in (("ours", 50_000), ("bullmq-c4", 30_000)):
            results.add(record(f"enqueue-bulk/{contender}", tasks_per_s=bulk, tasks=20_000))
        idle = {"calls_per_s": 0.5, "worker_core_percent": 0.3, "engine_core_percent": 0.2, "memory_mb": 60.0}
        results.add(record("idle/ours", **idle))
        results.add(record("due/300000", last_after_s=5.0, ping_p50_ms=0.2, ping_p99_ms=3.0, ping_max_ms=20.0))
        for depth, cost in ((10_000, 20.0), (100_000, 21.0), (1_000_000, 22.0)):
            results.add(record(f"depth/{depth}", wall_us=cost, worker_us=18.0, script_us=4.0))
    return results


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A Redis server of the benchmark's own. Without the binary: skipped on a laptop, failed in CI."""
    if shutil.which("redis-server") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("redis-server is not installed")
    folder = tmp_path_factory.mktemp("engine")
    (folder / "logs").mkdir()
    with engine.started("redis-server", folder) as started:
        yield started


@pytest.fixture
def lab(server: Engine, tmp_path: Path) -> Lab:
    """Where a measurement works."""
    return Lab(engine=server, marks=MarksFile(tmp_path / "marks"), logs=tmp_path, quiet_seconds=0)
