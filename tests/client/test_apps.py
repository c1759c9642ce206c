"""A host project starts: what is imported, claimed and left alone."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = {apps!r}
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
USE_TZ = True
FORGEQUEUE = {forgequeue!r}
"""


@pytest.fixture
def host(tmp_path):
    """Runs code in a project of these files."""

    def run(code, *, files=None, apps=("queue_app", "shop"), forgequeue=None):
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "__init__.py").touch()
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        settings = SETTINGS.format(
            apps=list(apps), forgequeue={"URL": "memory://"} if forgequeue is None else forgequeue
        )
        (tmp_path / "host_settings.py").write_text(settings)
        environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "DJANGO_SETTINGS_MODULE": "host_settings", "PATH": ""}
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", f"import django; django.setup()\n{textwrap.dedent(code)}"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


TASKS = {"shop/tasks.py": "from queue_app import task\n@task\ndef ship(order_id): ...\n"}
TYPES = "from queue_app.registry import handlers; print(handlers.types())"


def test_tasks_of_every_app_are_known_when_django_is_set_up(host):
    assert host(TYPES, files=TASKS).stdout == "['shop.tasks.ship']\n"


def test_nothing_is_imported_when_it_is_told_so(host):
    assert host(TYPES, files=TASKS, forgequeue={"DISCOVER": False}).stdout == "[]\n"


def test_exactly_the_modules_named_are_imported(host):
    files = TASKS | {"shop/jobs.py": "from queue_app import task\n@task\ndef pack(): ...\n"}

    assert host(TYPES, files=files, forgequeue={"DISCOVER": ["shop.jobs"]}).stdout == "['shop.jobs.pack']\n"


def test_a_module_that_is_named_and_missing_is_an_error(host):
    done = host(TYPES, forgequeue={"DISCOVER": ["shop.jobs"]})

    assert "ModuleNotFoundError: No module named 'shop.jobs'" in done.stderr


def test_an_app_without_tasks_is_fine(host):
    assert host(TYPES).stdout == "[]\n"


def test_a_broken_tasks_module_raises_with_its_own_traceback(host):
    done = host(TYPES, files={"shop/tasks.py": "from queue_app import task\nimport no_such_thing\n"})

    assert done.returncode == 1
    assert 'shop/tasks.py", line 2' in done.stderr
    assert "No module named 'no_such_thing'" in done.stderr


def test_two_functions_of_one_type_are_refused_with_both_places(host):
    text = "from queue_app import task\n@task(name='same')\ndef one(): ...\n@task(name='same')\ndef other(): ...\n"
    done = host(TYPES, files={"shop/tasks.py": text})

    assert "DuplicateHandler" in done.stderr
    assert "shop.tasks.one (" in done.stderr
    assert "shop/tasks.py:4" in done.stderr


def test_starting_opens_no_connection_starts_no_thread_and_imports_no_client(host):
    code = "import sys, threading; print(threading.active_count(), 'redis' in sys.modules)"

    assert host(code, files=TASKS, forgequeue={"URL": "redis://nowhere.invalid:1"}).stdout == "1 False\n"


def test_wrong_settings_are_left_to_the_check(host):
    code = "from django.core.management import call_command; call_command('check')"
    done = host(code, files=TASKS, forgequeue={"URL": "redis://localhost", "CONCURRENCY": "many"})

    assert "(forgequeue.E003) FORGEQUEUE[\"CONCURRENCY\"] is 'many'." in done.stderr
    assert "HINT: Write a whole number from 1 to 1,000." in done.stderr


def test_it_has_the_label_of_the_product(host):
    assert host("from django.apps import apps; print(apps.get_app_config('forgequeue').name)").stdout == "queue_app\n"


# --- runworker --------------------------------------------------------------------------------------------------------

RIVAL = {
    "rival/__init__.py": "",
    "rival/management/__init__.py": "",
    "rival/management/commands/__init__.py": "",
    "rival/management/commands/runworker.py": "",
}
OWNER = "from django.core.management import get_commands; print(get_commands()['runworker'])"


@pytest.mark.parametrize("apps", [("rival", "queue_app", "shop"), ("queue_app", "rival", "shop")])
def test_runworker_is_ours_in_any_order(host, apps):
    assert host(OWNER, files=RIVAL, apps=apps).stdout == "queue_app\n"


def test_the_claim_can_be_turned_off(host):
    done = host(OWNER, files=RIVAL, apps=("rival", "queue_app", "shop"), forgequeue={"CLAIM_RUNWORKER": False})

    assert done.stdout == "rival\n"
