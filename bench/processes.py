"""Starting and stopping what is measured. Every child leads a process group, and none outlives the benchmark."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import BenchError, RunFailed

STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, where, and with which additions to the environment."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)


class Child:
    """A running command."""

    def __init__(self, command: Command, log: Path) -> None:
        """Start it, its output to `log`."""
        self.command = command
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=os.environ | command.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the first process."""
        return self._process.pid

    def wait(self, timeout: float) -> int:
        """Its exit code. Raises RunFailed when that takes longer than `timeout` seconds."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{self.log.stem} took more than {timeout:.0f} s: {last_line(self.log)}") from None

    def check(self) -> None:
        """Raises RunFailed when it has ended."""
        if (code := self._process.poll()) is not None:
            raise RunFailed(f"{self.log.stem} ended with {code}: {last_line(self.log)}")

    def stop(self) -> None:
        """SIGTERM, then SIGKILL to what is left of the group."""
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def running(command: Command, log: Path) -> Iterator[Child]:
    """The command, running while the block runs."""
    child = Child(command, log)
    try:
        yield child
    finally:
        child.stop()


def finish(command: Command, log: Path, *, timeout: float) -> None:
    """Run a command to its end. Raises RunFailed when that is not a good one, or not in time."""
    with running(command, log) as child:
        code = child.wait(timeout)
    if code:
        raise RunFailed(f"{log.stem} ended with {code}: {last_line(log)}")


def install(argv: list[str], cwd: Path, log: Path) -> None:
    """Run a step of an installation. Raises BenchError with the last line it printed."""
    with log.open("ab") as output:
        code = subprocess.run(argv, cwd=cwd, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        raise BenchError(f"{' '.join(argv[:3])} … failed, see {log}: {last_line(log)}")


def last_line(log: Path) -> str:
    """The last words of a log, for an error of one line."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing"


def wait_until(done: Callable[[], bool], child: Child, *, timeout: float, pause: float = 0.005) -> bool:
    """Ask `done` every few milliseconds while `child` runs; False after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() >= deadline:
            return False
        child.check()
        time.sleep(pause)
    return True
