"""The command line: one clear line for everything that is wrong, and none of it a traceback."""

import os
import subprocess
import sys
import time

import pytest

from tests.process.rig import Rig, until
from tests.process.workers import ROOT


def run(
    *arguments: str, url: str = "unix:///nowhere/s", command: str = "runworker"
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.process.settings", "PROCESS_URL": url}
    return subprocess.run(
        [sys.executable, "manage.py", command, *arguments],
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def complaint(ended: "subprocess.CompletedProcess[str]") -> str:
    """The last line that a failed command said."""
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    return ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["runworker", "forgequeue_worker"])
def test_redis_unreachable_at_startup(command: str) -> None:
    """Fail fast with ping."""
    began = time.monotonic()

    ended = run(command=command)

    assert complaint(ended).startswith("CommandError: the engine at unix:///nowhere/s does not answer: ")
    assert len(ended.stderr.splitlines()) == 1
    assert time.monotonic() - began < 10


def test_the_password_of_an_unreachable_engine_is_not_shown() -> None:
    ended = run(url="redis://user:S3CR3T@127.0.0.1:1/0")

    assert "127.0.0.1:1" in complaint(ended)
    assert "S3CR3T" not in ended.stderr + ended.stdout


def test_a_bad_option_is_one_line_that_names_it() -> None:
    assert "the weight of 'a:0'" in complaint(run("--queues", "a:0"))


def test_a_bad_setting_is_one_line_that_names_it() -> None:
    ended = run(url="ftp://x")

    assert ended.returncode != 0
    assert "URL" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_start_says_what_serves_which_queues_where(rig: Rig) -> None:
    worker = rig.workers.start("--queues", "mail:6,tasks:3", "--name", "shop")

    line = worker.wait_for(" serves ")

    assert line.startswith(f"worker shop-{worker.pid}-")
    assert line.endswith(f" serves mail:6, tasks:3 with 1 × 4 slots at {rig.engine.url}")
    rig.workers.stop()
    assert worker.lines[-1].endswith("ended: 0 attempts, 0 of them failed")


def test_a_burst_runs_what_there_is_and_ends(rig: Rig) -> None:
    ids = [rig.enqueue("work") for _ in range(50)]

    worker = rig.workers.start("--burst", wait=False)

    assert worker.wait() == 0
    assert rig.ledger.ended() == set(ids)
    rig.check_conservation()


def test_a_worker_shows_itself_and_is_gone_at_once_after_a_clean_stop(rig: Rig) -> None:
    worker = rig.workers.start("--name", "shop")
    until(lambda: bool(rig.broker.workers()), "it shows itself", 5)
    (record,) = rig.broker.workers()
    assert record.pid == worker.pid
    assert record.name.startswith("shop-")

    rig.workers.stop()

    assert rig.broker.workers() == []


def test_channel_names_run_the_command_of_channels_or_say_what_is_missing() -> None:
    ended = run("thumbnails")

    assert "CHANNEL_LAYERS" in complaint(ended) or "channels, which is not installed" in complaint(ended)
    assert "thumbnails: names are channels; queues are named with --queues" in complaint(ended)


def test_a_failing_task_is_retried_and_dies(rig: Rig) -> None:
    worker = rig.workers.start()
    task_id = rig.enqueue("failing", max_retries=2, backoff=None)

    worker.wait_for(f"ERROR task died task={task_id}")

    assert len(rig.ledger.entries("start")) == 3
    snapshot = rig.broker.get(task_id)
    assert snapshot.task.last_error is not None
    assert 'raise RuntimeError("as it should")' in snapshot.task.last_error.traceback
    assert "queue_app" not in snapshot.task.last_error.traceback


def test_missing_task_body(rig: Rig) -> None:
    """Claimed but dropped; what stands behind it runs."""
    rig.enqueue("work", 0.0)
    with rig.engine.client() as client:
        client.rpush("queue:tasks:immediate", "no-such-task")

    worker = rig.workers.start("--burst", wait=False)

    assert worker.wait() == 0
    assert len(rig.ledger.ended()) == 1
    rig.check_conservation()
