"""`manage.py forgequeue` as a program: its exit code, and one line on stderr when something is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from queue_app.brokers.redis import embedded

ROOT = Path(__file__).parents[2]

SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = ["queue_app"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
USE_TZ = True
FORGEQUEUE = {forgequeue!r}
"""


@pytest.fixture
def forgequeue(tmp_path):
    """Runs a verb with these settings: exit code, lines of stdout, lines of stderr."""

    def run(*words, **settings):
        (tmp_path / "host_settings.py").write_text(SETTINGS.format(forgequeue=settings))
        environment = os.environ | {
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
            "DJANGO_SETTINGS_MODULE": "host_settings",
        }
        done = subprocess.run(
            [sys.executable, "-m", "django", "forgequeue", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    return run


@pytest.fixture
def engine(tmp_path, embedded_binary):
    yield {"URL": "embedded://", "EMBEDDED_DIR": str(tmp_path / "engine")}
    embedded.start(tmp_path / "engine").stop()


def test_what_is_done_ends_with_0(forgequeue, engine):
    assert forgequeue("enqueue", "echo", "--args", '["hello"]', "--count", "3", **engine)[0] == 0

    code, lines, errors = forgequeue("status", **engine)

    assert (code, errors) == (0, [])
    assert lines[1].split()[:3] == ["tasks", "0", "3"]


def test_what_is_refused_ends_with_1(forgequeue, engine):
    code, _, errors = forgequeue("cancel", "nothing", **engine)

    assert (code, errors) == (1, ["CommandError: 1 of 1 refused"])


@pytest.mark.parametrize(
    ("words", "settings", "part"),
    [
        (("status",), {"URL": "amqp://user:hunter2@host"}, 'FORGEQUEUE["URL"] begins with a scheme'),
        (("status",), {"URL": "memory://", "COLOUR": 1}, "FORGEQUEUE has no setting 'COLOUR'"),
        (("purge", "", "--yes"), {"URL": "memory://"}, "queue name ''"),
        (("enqueue", "a b"), {"URL": "memory://"}, "task type 'a b'"),
        (("enqueue", "echo", "--args", "{"), {"URL": "memory://"}, "--args is no JSON"),
    ],
)
def test_wrong_usage_and_settings_end_with_2_and_one_line(forgequeue, words, settings, part):
    code, _, errors = forgequeue(*words, **settings)

    assert (code, len(errors)) == (2, 1)
    assert part in errors[0]
    assert "hunter2" not in errors[0]


@pytest.mark.parametrize("words", [(), ("frobnicate",), ("pause",), ("purge",), ("enqueue",), ("dead",)], ids=str)
def test_wrong_words_end_with_2_and_the_usage(forgequeue, words):
    code, _, errors = forgequeue(*words, URL="memory://")

    assert code == 2
    assert errors[0].startswith("usage: ")


def test_a_store_that_is_away_ends_with_3_and_one_line(forgequeue):
    code, _, errors = forgequeue("status", URL="127.0.0.1:1")

    assert (code, len(errors)) == (3, 1)
    assert "the store cannot be reached" in errors[0]
