"""What the tests of the client stand on: a store in memory, which forgets everything with the test."""

from collections.abc import Iterator

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.testing.clock import FakeClock
from queue_app.testing.enqueued import override_broker
from tests.client import samples


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[MemoryBroker]:
    samples.calls.clear()
    broker = MemoryBroker(clock=clock)
    with override_broker(broker):
        yield broker


@pytest.fixture
def flaky(store: MemoryBroker) -> Iterator[samples.FlakyBroker]:
    broker = samples.FlakyBroker(store)
    with override_broker(broker):  # type: ignore[arg-type]
        yield broker
