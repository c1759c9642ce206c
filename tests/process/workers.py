"""Real `manage.py runworker` processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_SECONDS = 30.0


class WorkerProcess:
    """One worker in a process group of its own, and all that it says."""

    def __init__(self, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        self.lines: list[str] = []
        self.signalled_at: float | None = None
        self._said = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "runworker", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """All that it said so far."""
        return "\n".join(self.lines)

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> str:
        """The first line with `text` in it, as soon as it is said."""
        deadline = time.monotonic() + seconds
        with self._said:
            while True:
                found = next((line for line in self.lines if text in line), None)
                if found is not None:
                    return found
                if not self._reader.is_alive() or time.monotonic() > deadline:
                    raise AssertionError(f"the worker never said {text!r}:\n{self.output}")
                self._said.wait(0.1)

    def wait_until_it_serves(self) -> None:
        """It has found its engine and begins to claim."""
        self.wait_for(" serves ")

    def send(self, number: int) -> None:
        """Send a signal to the worker itself."""
        self.signalled_at = time.monotonic()
        self._process.send_signal(number)

    def kill_group(self) -> None:
        """End it and whatever it started, as an out-of-memory killer would."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self, seconds: float = 30.0) -> int:
        """Its exit code, once it has ended."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker still runs after {seconds:.0f} s:\n{self.output}") from None
        self._reader.join(5)
        return code

    def cpu_seconds(self) -> float:
        """Processor time that it has used, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in pipe:
                with self._said:
                    self.lines.append(line.rstrip("\n"))
                    self._said.notify_all()
        with self._said:
            self._said.notify_all()


class Workers:
    """Starts workers, and ends those that are left."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self.all: list[WorkerProcess] = []

    def start(self, *arguments: str, wait: bool = True, **environment: str) -> WorkerProcess:
        """One more worker, with options of the command line."""
        worker = WorkerProcess({**os.environ, **self._environment, **environment}, arguments)
        self.all.append(worker)
        if wait:
            worker.wait_until_it_serves()
        return worker

    def stop(self, seconds: float = 30.0) -> list[int]:
        """Ask all that run to end. Their exit codes."""
        living = [worker for worker in self.all if worker.is_alive]
        for worker in living:
            worker.send(signal.SIGTERM)
        return [worker.wait(seconds) for worker in living]

    def close(self) -> None:
        """End whatever is left."""
        for worker in self.all:
            if worker.is_alive:
                worker.kill_group()
                worker.wait()
            # Shown when the test fails.
            sys.stdout.write(f"--- worker {worker.pid}\n{worker.output}\n")
