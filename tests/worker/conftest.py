"""A worker that was never started."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.testing.clock import FakeClock
from tests.worker.kit import Faulty, Kit


@pytest.fixture(autouse=True)
def may_look_at_connections(django_db_blocker: Any) -> Iterator[None]:
    """A worker tidies the connections of its threads; in a test these can be ones that an earlier test opened."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def time() -> FakeClock:
    """The store's clock, and the worker's."""
    return FakeClock()


@pytest.fixture
def broker(time: FakeClock) -> Any:
    """A store in memory, of which single calls can fail."""
    return Faulty(MemoryBroker(clock=time))


@pytest.fixture
def make_kit(broker: Any, time: FakeClock) -> Callable[..., Kit]:
    """A kit with options of one's own."""
    return lambda **options: Kit(broker, time, **options)


@pytest.fixture
def kit(make_kit: Callable[..., Kit]) -> Kit:
    """A worker with one slot on the queue `tasks`."""
    return make_kit()
