"""A proxy in front of the embedded engine."""

from collections.abc import Iterator

import pytest

from queue_app.brokers.redis import connect
from tests.faults.proxy import Proxy


@pytest.fixture
def proxy(engine_url: str) -> Iterator[Proxy]:
    """Everything goes through it until a test says otherwise. The store behind it is empty."""
    direct = connect(engine_url)
    direct.command("FLUSHALL")
    direct.close()
    proxy = Proxy(engine_url)
    yield proxy
    proxy.close()
