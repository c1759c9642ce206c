"""B35: a worker that cannot import a project's tasks says where it stopped, and stops; a type that nobody handles here
is kept for somebody who does, until its budget is spent, and its body after that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from queue_app.core.states import State
from tests.process.rig import Rig, until
from tests.process.workers import ROOT

pytestmark = pytest.mark.slow

BROKEN = {
    "import error": ("import no_such_module_here\n", "No module named 'no_such_module_here'"),
    "syntax error": ("def broken(:\n", "SyntaxError"),
    "exit": ("raise SystemExit(3)\n", ""),
    "circular": ("from shop import tasks, nothing\n", "cannot import name 'nothing'"),
}


def runworker(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "runworker", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "DJANGO_SETTINGS_MODULE": "shop_settings", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with an app whose tasks are to be written."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    settings = 'from tests.process.settings import *\nINSTALLED_APPS = ["queue_app", "shop"]\nFORGEQUEUE = {"URL": "memory://"}\n'
    (tmp_path / "shop_settings.py").write_text(settings)
    return tmp_path


@pytest.mark.parametrize("kind", BROKEN)
def test_b35_tasks_that_cannot_be_imported_stop_the_worker_with_file_and_line(shop: Path, kind: str) -> None:
    source, words = BROKEN[kind]
    (shop / "shop" / "tasks.py").write_text(source)

    ended = runworker(shop, "--burst")

    assert ended.returncode != 0
    assert words in ended.stderr
    assert kind == "exit" or ("tasks.py" in ended.stderr and "line 1" in ended.stderr)
    assert "serves" not in ended.stdout


def test_b35_tasks_of_an_app_can_be_left_out(shop: Path) -> None:
    (shop / "shop" / "tasks.py").write_text("import no_such_module_here\n")
    with (shop / "shop_settings.py").open("a") as settings:
        settings.write('FORGEQUEUE["DISCOVER"] = ["tests.process.tasks"]\n')

    ended = runworker(shop, "--burst")

    assert (ended.returncode, ended.stderr) == (0, "") or "Traceback" not in ended.stderr
    assert "ended: 0 attempts" in ended.stdout


def test_b35_a_project_that_cannot_start_says_why(shop: Path) -> None:
    ended = runworker(shop, "--burst", DJANGO_SETTINGS_MODULE="no_such_settings")

    assert ended.returncode != 0
    assert "no_such_settings" in ended.stderr


def test_b35_an_old_worker_keeps_a_new_task_for_a_new_one(rig: Rig) -> None:
    old = rig.workers.start(PROCESS_WITHOUT_TASKS="1")
    task_id = rig.enqueue("work", backoff=None, max_retries=3)
    old.wait_for(f"task failed task={task_id}")

    new = rig.workers.start()
    until(lambda: old.is_alive and old.output.count(task_id) >= 1, "it was told once")
    old.send(15)
    assert old.wait() == 0
    rig.wait_for_end([task_id], 15)

    assert new.is_alive
    assert "UnknownTaskType" in old.output


def test_b35_one_that_nobody_ever_handles_is_dead_with_its_body(rig: Rig) -> None:
    rig.workers.start(PROCESS_WITHOUT_TASKS="1")
    task_id = rig.enqueue("work", 7, max_retries=-1)

    until(lambda: rig.broker.get(task_id).state is State.DEAD, "it is dead", 10)

    task = rig.broker.get(task_id).task
    assert (task.attempts, task.last_error.type) == (1, "UnknownTaskType")
    assert b"7" in (task.payload or b"")
