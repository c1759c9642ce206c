"""The one Redis server that everybody is measured on: the same process, the same settings, emptied before each run."""

import re
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from bench.errors import BenchError
from bench.processes import Command, running

SETTINGS = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    # The file is rewritten empty before each run instead; a rewrite in the middle of one would hit whom it hits.
    "auto-aof-rewrite-percentage": "0",
    "loglevel": "warning",
}
START_SECONDS = 10.0
SCRIPT_COMMANDS = ("evalsha", "eval", "fcall")
_MONITOR_LINE = re.compile(r'^\d+\.\d+ \[\d+ (?P<source>[^\]]+)\] "(?P<command>[^"]+)"')


class Engine:
    """A connection of the harness to the server, and what it needs to know of it."""

    def __init__(self, url: str, *, pid: int | None, owned: bool) -> None:
        """`owned` says that the server is ours alone; `pid` is None when it cannot be seen from here."""
        self.url = url
        self.pid = pid
        self.owned = owned
        self.client: Any = redis.Redis.from_url(url, socket_timeout=120, decode_responses=True)

    @property
    def version(self) -> str:
        """Name and number, as the server gives them."""
        info = self.client.info("server")
        name = "Valkey" if "valkey_version" in info else "Redis"
        return f"{name} {info.get('valkey_version') or info['redis_version']}"

    @property
    def persistence(self) -> str:
        """The append-only file's settings, asked of the server."""
        on = self.client.config_get("appendonly")["appendonly"]
        return f"appendonly {on}, appendfsync {self.client.config_get('appendfsync')['appendfsync']}"

    def reset(self) -> None:
        """Empty the server, its append-only file and its statistics."""
        if not self.owned:
            self.client.flushdb()
            return
        self.client.flushall()
        if self.client.config_get("appendonly")["appendonly"] == "no":
            self.client.config_resetstat()
            return
        # One that turning the file on has started has to end first.
        self._wait_for_rewrite()
        self.client.bgrewriteaof()
        self._wait_for_rewrite()
        self.client.config_resetstat()

    def used_memory(self) -> int:
        """Bytes that the server's data takes."""
        return int(self.client.info("memory")["used_memory"])

    def script_seconds(self) -> float:
        """Time spent in scripts since the last reset, by the server's own clock."""
        stats = self.client.info("commandstats")
        return float(sum(stats.get(f"cmdstat_{name}", {}).get("usec", 0) for name in SCRIPT_COMMANDS)) / 1e6

    def calls_during(self, seconds: float) -> Counter[str]:
        """The commands that clients send in the next `seconds`, by name, without those inside scripts.

        INFO counts a script's own commands among the others; MONITOR says where each came from.
        """
        calls: Counter[str] = Counter()
        connection = self.client.connection_pool.get_connection()
        try:
            connection.send_command("MONITOR")
            connection.read_response()
            deadline = time.monotonic() + seconds
            while (left := deadline - time.monotonic()) > 0:
                if connection.can_read(timeout=left):
                    calls.update(client_command(connection.read_response()))
        finally:
            connection.disconnect()
            self.client.connection_pool.release(connection)
        return calls

    def ping_seconds(self) -> float:
        """How long the server takes to answer a PING now."""
        began = time.perf_counter()
        self.client.ping()
        return time.perf_counter() - began

    def _wait_for_rewrite(self) -> None:
        while self._is_rewriting():
            time.sleep(0.02)

    def _is_rewriting(self) -> bool:
        state = self.client.info("persistence")
        return bool(state["aof_rewrite_in_progress"] or state.get("aof_rewrite_scheduled"))


def client_command(line: str) -> list[str]:
    """The command of a line of MONITOR, or nothing when a script sent it."""
    found = _MONITOR_LINE.match(line)
    return [] if found is None or found["source"] == "lua" else [found["command"].lower()]


@contextmanager
def started(binary: str, folder: Path) -> Iterator[Engine]:
    """A server of our own on a free port; its data lives in a new folder under `folder` and goes with it."""
    path = shutil.which(binary)
    if path is None:
        raise BenchError(
            f"{binary} was not found: install Debian's redis-server, or give --redis-server or --redis-url"
        )
    with tempfile.TemporaryDirectory(prefix="engine-", dir=folder) as data:
        port = free_port()
        with running(_command(path, port, Path(data)), folder / "logs" / "engine.log") as child:
            engine = Engine(f"redis://127.0.0.1:{port}/0", pid=child.pid, owned=True)
            _wait_for(engine, child.check)
            yield engine
            engine.client.close()


def attached(url: str) -> Engine:
    """Somebody's server. Refused unless the database is empty: it is emptied before each run."""
    engine = Engine(url, pid=None, owned=False)
    try:
        if size := engine.client.dbsize():
            raise BenchError(
                f"the database of --redis-url holds {size} keys, and each run empties it: give an empty one"
            )
    except redis.RedisError as error:
        raise BenchError(f"--redis-url does not answer: {error}") from error
    pid = int(engine.client.info("server")["process_id"])
    engine.pid = pid if _is_local_server(pid) else None
    return engine


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(path: str, port: int, data: Path) -> Command:
    settings = {"port": str(port), "dir": str(data)} | SETTINGS
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Command(argv=(path, *options), cwd=data)


def _wait_for(engine: Engine, check: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            engine.client.ping()
        except redis.ConnectionError as error:
            check()
            if time.monotonic() > deadline:
                raise BenchError(f"the Redis server did not start: {error}") from error
            time.sleep(0.02)
        else:
            return


def _is_local_server(pid: int) -> bool:
    """Whether that process id, as the server gives it, is a Redis or Valkey server on this machine."""
    try:
        return (Path("/proc") / str(pid) / "comm").read_text().startswith(("redis", "valkey"))
    except OSError:
        return False
