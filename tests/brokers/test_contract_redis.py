"""The contract, kept by Redis: the embedded engine, the machine's own server, and a cluster."""

from collections.abc import Callable, Iterator

import pytest

from queue_app.brokers.base import Broker
from queue_app.brokers.redis import Connection, RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.core.retention import Retention
from queue_app.testing.broker_contract import BrokerContract
from queue_app.testing.clock import FakeClock


class RedisContract(BrokerContract):
    @pytest.fixture
    def broker(self, connection: Connection, clock: FakeClock, retention: Retention) -> Broker:
        return RedisBroker(connection, clock=clock, retention=retention)


class ServerContract(RedisContract):
    """On one server every key can be looked at: after each test they all agree."""

    @pytest.fixture(autouse=True)
    def inspected(self, connection: Connection, conserved: None) -> Iterator[None]:
        yield
        assert inspect(connection) == []


class TestEmbeddedEngine(ServerContract):
    @pytest.fixture
    def connection(self, engine_url: str) -> Iterator[Connection]:
        yield from an_empty_server(engine_url)


class TestRedisServer(ServerContract):
    @pytest.fixture
    def connection(self, redis_server_url: str) -> Iterator[Connection]:
        yield from an_empty_server(redis_server_url)


@pytest.fixture(scope="module")
def cluster_connection(cluster: str) -> Iterator[Connection]:
    """Made once: to learn the slots of a cluster takes longer than a test."""
    connection = connect(cluster)
    yield connection
    connection.close()


@pytest.mark.cluster
class TestCluster(RedisContract):
    ids_are_unique_across_queues = False

    @pytest.fixture
    def connection(self, cluster_connection: Connection, flush_cluster: Callable[[], None]) -> Connection:
        flush_cluster()
        return cluster_connection


def an_empty_server(url: str) -> Iterator[Connection]:
    connection = connect(url)
    connection.command("FLUSHALL")
    yield connection
    connection.close()
