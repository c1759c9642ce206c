"""A store in memory for the verbs."""

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.runtime import override


@pytest.fixture
def broker():
    with override(MemoryBroker()) as broker:
        yield broker
