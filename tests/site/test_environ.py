"""The environment as the site reads it: a value, or an error that names the variable."""

import runpy
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from forgequeue_site import environ

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("FORGEQUEUE_REDIS_ADDR", "FORGEQUEUE_WORKER_CONCURRENCY", "FORGEQUEUE_BATCH_SIZE", "FORGEQUEUE_DEBUG")


@pytest.fixture
def settings_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The site's settings under these environment variables."""

    def read(**variables: str) -> dict[str, Any]:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in {"FORGEQUEUE_VAR_DIR": str(tmp_path), **variables}.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "forgequeue_site" / "settings.py"))

    return read


def test_a_fresh_checkout_runs_the_embedded_engine_below_var(settings_with, tmp_path):
    settings = settings_with()

    assert settings["FORGEQUEUE"] == {"URL": "embedded://", "EMBEDDED_DIR": tmp_path / "engine"}


def test_debug_is_off_and_only_this_machine_is_served_unless_the_environment_says_otherwise(settings_with):
    settings = settings_with()

    assert settings["DEBUG"] is False
    assert settings["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]


def test_the_environment_fills_the_engine_settings(settings_with):
    settings = settings_with(
        FORGEQUEUE_REDIS_ADDR="redis.internal:6380",
        FORGEQUEUE_WORKER_CONCURRENCY="16",
        FORGEQUEUE_BATCH_SIZE=" 4 ",
        FORGEQUEUE_DEBUG="yes",
        FORGEQUEUE_ALLOWED_HOSTS="queue.example, www.example",
    )

    assert settings["FORGEQUEUE"]["URL"] == "redis://redis.internal:6380"
    assert settings["FORGEQUEUE"]["CONCURRENCY"] == 16
    assert settings["FORGEQUEUE"]["BATCH_SIZE"] == 4
    assert settings["DEBUG"] is True
    assert settings["ALLOWED_HOSTS"] == ["queue.example", "www.example"]


def test_an_empty_variable_is_an_unset_one(settings_with):
    settings = settings_with(FORGEQUEUE_REDIS_ADDR="", FORGEQUEUE_BATCH_SIZE="  ")

    assert settings["FORGEQUEUE"]["URL"] == "embedded://"
    assert "BATCH_SIZE" not in settings["FORGEQUEUE"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FORGEQUEUE_WORKER_CONCURRENCY", "0"),
        ("FORGEQUEUE_WORKER_CONCURRENCY", "1001"),
        ("FORGEQUEUE_WORKER_CONCURRENCY", "four"),
        ("FORGEQUEUE_BATCH_SIZE", "-1"),
        ("FORGEQUEUE_BATCH_SIZE", "1.5"),
        ("FORGEQUEUE_BATCH_SIZE", "²"),
        ("FORGEQUEUE_DEBUG", "perhaps"),
        ("FORGEQUEUE_REDIS_ADDR", "localhost"),
        ("FORGEQUEUE_REDIS_ADDR", "localhost:99999"),
        ("FORGEQUEUE_REDIS_ADDR", "http://localhost:6379"),
        ("FORGEQUEUE_REDIS_ADDR", "redis://"),
        ("FORGEQUEUE_REDIS_ADDR", "embedded"),
        ("FORGEQUEUE_REDIS_ADDR", "://localhost"),
        ("FORGEQUEUE_REDIS_ADDR", "embedded://here"),
    ],
)
def test_a_bad_value_is_refused_at_start_and_named(settings_with, name, value):
    with pytest.raises(ImproperlyConfigured, match=name):
        settings_with(**{name: value})


def test_a_refused_address_does_not_show_its_password(monkeypatch):
    monkeypatch.setenv("FORGEQUEUE_REDIS_ADDR", "amqp://user:hunter2@broker:5672")

    with pytest.raises(ImproperlyConfigured) as caught:
        environ.engine_url("FORGEQUEUE_REDIS_ADDR", "embedded://")

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["rediss://host:6379/1", "unix:///run/redis.sock", "redis+sentinel://a:26379/main", "embedded://", "memory://"],
)
def test_urls_are_taken_as_they_are(monkeypatch, url):
    monkeypatch.setenv("FORGEQUEUE_REDIS_ADDR", url)

    assert environ.engine_url("FORGEQUEUE_REDIS_ADDR", "") == url


def test_a_secret_is_made_once_and_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "new" / "secret_key"

    first = environ.secret("FORGEQUEUE_UNSET", path)

    assert len(first) >= 50
    assert environ.secret("FORGEQUEUE_UNSET", path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_secret_of_the_environment_leaves_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGEQUEUE_SECRET_KEY", "given")

    assert environ.secret("FORGEQUEUE_SECRET_KEY", tmp_path / "secret_key") == "given"
    assert list(tmp_path.iterdir()) == []


def test_manage_py_says_a_bad_value_in_one_line(tmp_path):
    environment = {"FORGEQUEUE_VAR_DIR": str(tmp_path), "FORGEQUEUE_BATCH_SIZE": "many"}

    ended = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr == "manage.py: FORGEQUEUE_BATCH_SIZE='many': it must be a whole number from 1 to 1000.\n"
