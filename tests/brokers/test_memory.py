"""The contract, kept in memory."""

from collections import Counter

import pytest

from queue_app.brokers.base import Broker
from queue_app.brokers.memory import MemoryBroker
from queue_app.core.retention import Retention
from queue_app.testing.broker_contract import BrokerContract
from queue_app.testing.clock import FakeClock


class TestMemory(BrokerContract):
    @pytest.fixture
    def broker(self, clock: FakeClock, retention: Retention) -> Broker:
        return MemoryBroker(clock=clock, retention=retention)


def test_no_two_parts_of_the_contract_say_the_same_sentence():
    sentences = Counter(name for part in BrokerContract.__mro__ for name in vars(part) if name.startswith("test_"))

    assert [name for name, times in sentences.items() if times > 1] == []
