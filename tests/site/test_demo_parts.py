"""The parts of the demo, one by one."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError

from forgequeue_site.demo import account, children, ports, progress
from forgequeue_site.demo.children import Child
from forgequeue_site.demo.stream import Stream
from queue_app import runtime
from queue_app.brokers.memory import MemoryBroker
from queue_app.core.answers import QueueStats
from queue_app.core.states import State

ROOT = Path(__file__).resolve().parents[2]
OBEDIENT = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {OBEDIENT}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {OBEDIENT!r}]); {OBEDIENT}"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Child]]:
    """Starts a child that runs this code, and waits until it is up."""
    started: list[Child] = []

    def start_one(code: str) -> Child:
        log = tmp_path / f"{len(started)}.log"
        child = Child("sleeper", [sys.executable, "-c", code], log=log, cwd=tmp_path)
        started.append(child)
        wait_until(lambda: "up" in log.read_text() or child.has_ended)
        return child

    yield start_one
    children.stop(started, seconds=0)


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Until the condition holds; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def group_is_alive(group: int) -> bool:
    """Some process of the group runs."""
    states = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return any(line.split()[0] == str(group) and "Z" not in line.split()[1] for line in states.splitlines())


class TestPorts:
    def test_the_first_port_that_nobody_has_is_taken(self, monkeypatch):
        with socket.create_server((ports.HOST, 0)) as other:
            monkeypatch.setattr(ports, "FIRST", other.getsockname()[1])

            with ports.listen(None) as ours:
                assert ours.getsockname()[1] > ports.FIRST

    def test_a_wanted_port_that_is_taken_is_refused(self):
        with ports.listen(0) as first:
            port = first.getsockname()[1]

            with pytest.raises(CommandError, match=f"port {port} is taken"):
                ports.listen(port)

    def test_a_port_where_nobody_serves_pages_does_not_answer(self):
        with ports.listen(0) as silent:
            assert not ports.answers(silent.getsockname()[1])


class TestChildren:
    def test_a_child_that_obeys_is_stopped_at_once(self, start):
        child = start(OBEDIENT)

        children.stop([child], seconds=30)

        assert child.process.returncode == -signal.SIGTERM

    def test_a_child_that_does_not_obey_is_forced(self, start):
        child = start(STUBBORN)

        children.stop([child], seconds=0.2)

        assert child.process.returncode == -signal.SIGKILL

    def test_a_hurry_does_not_wait(self, start):
        child = start(STUBBORN)

        children.stop([child], seconds=60, is_hurried=lambda: True)

        assert child.has_ended

    def test_what_a_child_started_ends_with_it(self, start):
        child = start(PARENT)

        children.stop([child], seconds=5)

        wait_until(lambda: not group_is_alive(child.group))

    def test_the_epitaph_of_a_child_has_its_code_and_the_end_of_its_log(self, start):
        child = start("import sys; print('the last words'); sys.exit(3)")
        wait_until(lambda: child.has_ended)

        assert "the sleeper stopped by itself with exit code 3" in child.epitaph()
        assert "the last words" in child.epitaph()


class TestWarden:
    @pytest.fixture
    def warden(self) -> Iterator[subprocess.Popen[bytes]]:
        """A warden whose demo is this test."""
        with subprocess.Popen(
            [sys.executable, "-m", "forgequeue_site.demo.warden"], cwd=ROOT, stdin=subprocess.PIPE
        ) as process:
            yield process
            process.kill()

    def test_when_the_demo_is_gone_everything_it_started_ends(self, start, warden):
        family = [start(OBEDIENT), start(PARENT)]
        for child in family:
            warden.stdin.write(f"{child.group}\n".encode())

        warden.stdin.close()

        # A list, not a generator: each look also takes leave of the dead, who would seem alive to the warden.
        wait_until(lambda: all([child.has_ended and not group_is_alive(child.group) for child in family]))  # noqa: C419

    def test_it_touches_nothing_while_the_demo_runs(self, start, warden):
        child = start(OBEDIENT)
        warden.stdin.write(f"{child.group}\n".encode())
        warden.stdin.flush()

        warden.kill()
        warden.wait()

        assert not child.has_ended

    def test_a_group_that_has_ended_already_is_no_trouble(self, start, warden):
        child = start(OBEDIENT)
        os.killpg(child.group, signal.SIGKILL)
        child.process.wait()
        warden.stdin.write(f"{child.group}\n".encode())

        warden.stdin.close()

        assert warden.wait(timeout=20) == 0


@pytest.mark.django_db(transaction=True)
class TestStream:
    @pytest.fixture
    def now(self) -> list[float]:
        """What the stream's clock shows."""
        return [1_000.0]

    @pytest.fixture
    def stream(self, now: list[float]) -> Iterator[Stream]:
        """Ten tasks a second, into a store of their own."""
        with runtime.override(MemoryBroker()):
            yield Stream(10, clock=lambda: now[0])

    def test_tasks_come_as_the_clock_says(self, stream, now):
        assert stream.run_once() == 0
        now[0] += 0.5
        assert stream.run_once() == 5
        assert stream.run_once() == 0

    def test_the_first_tasks_are_one_of_each_kind(self, stream, now):
        now[0] += 0.5
        stream.run_once()

        broker = runtime.get_broker()
        ready = broker.list_tasks("tasks", State.READY).snapshots
        kinds = sorted(snapshot.task.task_type.rpartition(".")[2] for snapshot in ready)
        assert kinds == ["echo", "fail", "recover", "sleep"]
        assert broker.stats("tasks").counts[State.SCHEDULED] == 1

    def test_a_stall_is_not_made_up_for(self, stream, now):
        now[0] += 60

        assert stream.run_once() == 10
        assert stream.run_once() == 0


class TestProgress:
    def test_queues_are_added_up(self):
        mail = QueueStats(queue="mail", counts={State.READY: 2, State.DEAD: 1}, totals={"enqueued": 9, "succeeded": 5})
        other = QueueStats(queue="other", counts={State.READY: 1, State.RETRYING: 3}, totals={"enqueued": 4})

        assert progress.summary([mail, other]) == (
            "enqueued 13  succeeded 5  running 0  ready 3  scheduled 0  retrying 3  dead 1"
        )

    def test_on_a_terminal_the_line_is_written_over_and_cut(self, monkeypatch):
        out = Terminal()
        monkeypatch.setenv("COLUMNS", "11")
        status = progress.StatusLine(out)

        status.show("a line of many columns")
        status.show("short")
        status.note("done")

        assert out.getvalue() == "\ra line of \x1b[K\rshort\x1b[K\ndone\n"

    def test_elsewhere_each_line_stays(self):
        out = io.StringIO()
        status = progress.StatusLine(out)

        status.show("one")
        status.show("two")

        assert out.getvalue() == "one\ntwo\n"

    def test_elsewhere_a_line_is_due_every_few_seconds(self):
        now = [100.0]
        status = progress.StatusLine(io.StringIO(), clock=lambda: now[0])

        assert status.is_due
        status.show("one")
        assert not status.is_due
        now[0] += progress.LOG_SECONDS
        assert status.is_due


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.django_db
class TestAccount:
    def test_the_first_run_makes_a_superuser_and_says_the_password(self):
        said = account.describe()

        password = said.split("password ")[1].split()[0]
        assert len(password) >= 16
        user = authenticate(username="admin", password=password)
        assert user is not None
        assert user.is_superuser

    def test_a_later_run_says_who_there_is_and_no_password(self):
        account.describe()

        assert account.describe() == (
            "log in as admin, whom an earlier run made; a new password: ./forge manage changepassword admin"
        )
