"""settings.FORGEQUEUE: defaults that work, and mistakes that are named with what to write instead."""

from datetime import timedelta
from pathlib import Path

import pytest

from queue_app.conf import KEYS, get_settings, read_settings
from queue_app.core.backoff import Backoff
from queue_app.core.errors import ConfigurationError
from queue_app.core.retention import Retention
from queue_app.core.showing import safe_url

SECRET = "hunter2"


def problem(settings, **given) -> str:
    """What is wrong with these settings, in one line."""
    settings.FORGEQUEUE = given
    with pytest.raises(ConfigurationError) as caught:
        get_settings()
    return str(caught.value)


def test_everything_has_a_default_that_works(settings):
    settings.FORGEQUEUE = {}
    settings.BASE_DIR = Path("/srv/shop")

    found = get_settings()

    assert (found.url, found.engine_dir) == ("embedded://", Path("/srv/shop/var/engine"))
    assert (found.default_queue, found.served_queues, found.prefix) == ("tasks", (("tasks", 1),), "")
    assert (found.concurrency, found.batch_size, found.lease_seconds, found.drain_timeout) == (4, None, 10.0, 30.0)
    assert (found.max_payload_bytes, found.max_attempts, found.backoff) == (1024 * 1024, 4, None)
    assert found.retention == Retention(cancelled_seconds=86_400.0, dead_seconds=None, idempotency_seconds=86_400.0)
    assert (found.enqueue_on_commit, found.eager, found.discover, found.claim_runworker) == (True, False, True, True)
    assert (found.foreign_producers, found.log_each_task) == (False, False)


def test_without_the_dict_there_are_only_defaults(settings):
    del settings.FORGEQUEUE

    assert get_settings().url == "embedded://"


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("URL", "redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("URL", "rediss://user:pw@host/1?ssl_cert_reqs=none", "rediss://user:pw@host/1?ssl_cert_reqs=none"),
        ("URL", "unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("URL", "embedded://", "embedded://"),
        ("URL", "memory://", "memory://"),
        ("URL", "redis+sentinel://a:26379,b:26379/main", "redis+sentinel://a:26379,b:26379/main"),
        ("URL", "redis+cluster://a:7000,b:7001", "redis+cluster://a:7000,b:7001"),
        ("URL", "localhost:6379", "redis://localhost:6379"),
        ("URL", "[::1]:6379", "redis://[::1]:6379"),
        ("EMBEDDED_DIR", "/srv/engine", Path("/srv/engine")),
        ("EMBEDDED_DIR", Path("/srv/engine"), Path("/srv/engine")),
        ("PREFIX", "shop:", "shop:"),
        ("DEFAULT_QUEUE", "mail", "mail"),
        ("CONCURRENCY", 16, 16),
        ("PROCESSES", 0, 0),
        ("BATCH_SIZE", 1, 1),
        ("BATCH_SIZE", None, None),
        ("LEASE_SECONDS", 0.5, 0.5),
        ("LEASE_SECONDS", timedelta(minutes=1), 60.0),
        ("DRAIN_TIMEOUT", 0, 0.0),
        ("MAX_PAYLOAD_BYTES", 10, 10),
        ("MAX_ATTEMPTS", 1, 1),
        ("MAX_ATTEMPTS", None, None),
        ("BACKOFF", "linear", Backoff(kind="linear")),
        ("BACKOFF", 5, Backoff(kind="fixed", base=5.0, cap=5.0, jitter=0.0)),
        ("BACKOFF", [1, 5], Backoff(kind="list", delays=(1.0, 5.0))),
        ("RETENTION", {"dead": 60}, Retention(dead_seconds=60.0)),
        ("RETENTION", {"cancelled": None}, Retention(cancelled_seconds=None)),
        ("RETENTION", {"idempotency": timedelta(hours=1)}, Retention(idempotency_seconds=3600.0)),
        ("DISCOVER", False, False),
        ("DISCOVER", ["shop.tasks"], ("shop.tasks",)),
        ("QUEUES", {"mail": 6, "tasks": 3}, (("mail", 6), ("tasks", 3))),
        ("QUEUES", ["mail", "tasks"], (("mail", 1), ("tasks", 1))),
        ("EAGER", True, True),
    ],
)
def test_a_value_is_read(settings, key, value, read):
    settings.FORGEQUEUE = {key: value}

    assert getattr(get_settings(), key.lower()) == read


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("URL", value) for value in ("", None, 6379, b"redis://x", "localhost", "localhost:0", "localhost:99999")),
        *(("URL", value) for value in ("amqp://host", "database://", "REDIS://x", "redis://", "unix://", "://")),
        *(("URL", value) for value in ("redis://host:1/two", "rediss://host:1/7/8", "redis://host:1/-1")),
        *(("URL", value) for value in ("memory://x", "embedded:///srv", "redis://host:port", "redis://[::1")),
        *(("EMBEDDED_DIR", value) for value in ("", "var/engine", None, 5)),
        *(("PREFIX", value) for value in (None, "a b", "{a}", "a*", "x" * 101)),
        *(("DEFAULT_QUEUE", value) for value in ("", None, "a b", "a:b", "x" * 101)),
        *(("PROCESSES", value) for value in (-1, 1001, "1", 1.0, True, None)),
        *(("CONCURRENCY", value) for value in (0, -1, 1001, "4", 4.0, True, None)),
        pytest.param("CONCURRENCY", 10**5000, id="huge"),
        *(("BATCH_SIZE", value) for value in (0, 1001, "auto", True, 1.5)),
        *(("LEASE_SECONDS", value) for value in (0, -1, "10", True, float("nan"), float("inf"), None)),
        *(("DRAIN_TIMEOUT", value) for value in (-1, "30", None, float("nan"))),
        *(("MAX_PAYLOAD_BYTES", value) for value in (0, -1, "1MB", 1e6, 2**40)),
        *(("MAX_ATTEMPTS", value) for value in (0, -1, "4", True, 10**7)),
        *(("BACKOFF", value) for value in ("quadratic", -1, [], [1, -1], True, lambda attempt, error: 1)),
        *(
            ("RETENTION", value)
            for value in (None, 5, {"gone": 1}, {"dead": -1}, {"dead": "1d"}, {"idempotency": None})
        ),
        *((key, value) for key in ("EAGER", "ENQUEUE_ON_COMMIT", "CLAIM_RUNWORKER") for value in (1, "False", None)),
        *((key, value) for key in ("FOREIGN_PRODUCERS", "LOG_EACH_TASK") for value in (0, "yes")),
        *(("DISCOVER", value) for value in ("shop.tasks", None, 1, ["shop.tasks", 5], [""])),
        *(
            ("QUEUES", value)
            for value in ({}, [], None, "mail", {"a b": 1}, {"a": 0}, {"a": "1"}, [["a"]], {"a": True})
        ),
    ],
)
def test_a_bad_value_is_named_with_what_to_write_instead(settings, key, value):
    told = problem(settings, **{key: value})

    assert told.startswith(f'FORGEQUEUE["{key}"] ')
    assert "Write" in told
    assert "\n" not in told


def test_an_unknown_setting_is_named_with_the_one_that_was_meant(settings):
    assert problem(settings, CONCURENCY=4) == "FORGEQUEUE has no setting 'CONCURENCY'. Did you mean CONCURRENCY?"
    assert problem(settings, concurrency=4).endswith("Did you mean CONCURRENCY?")
    assert "BATCH_SIZE" in problem(settings, XYZZY=4)


@pytest.mark.parametrize("value", [None, "redis://", ["URL"], 5], ids=repr)
def test_something_else_than_a_dict_is_refused(settings, value):
    settings.FORGEQUEUE = value

    with pytest.raises(ConfigurationError, match=r"FORGEQUEUE is no dict\. Write FORGEQUEUE = "):
        get_settings()


def test_all_mistakes_are_told_at_once_and_the_rest_is_read(settings):
    settings.FORGEQUEUE = {"CONCURRENCY": "4", "EAGER": "yes", "PREFIX": "shop:"}

    found, problems = read_settings()

    assert [each.setting for each in problems] == ["CONCURRENCY", "EAGER"]
    assert (found.concurrency, found.eager, found.prefix) == (4, False, "shop:")


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{SECRET}@host:port/0",
        f"amqp://user:{SECRET}@host",
        f"redis://:{SECRET}@",
        f"rediss://{SECRET}@[::1",
        f":{SECRET}@localhost:6379",
        f"memory://{SECRET}",
        f"unix://?password={SECRET}",
    ],
)
def test_a_password_is_in_no_error(settings, url):
    assert SECRET not in problem(settings, URL=url)


def test_a_password_is_in_no_repr(settings):
    settings.FORGEQUEUE = {"URL": f"redis://user:{SECRET}@host:6379/0?password={SECRET}"}

    assert SECRET not in repr(get_settings())
    assert safe_url(get_settings().url) == "redis://host:6379/0"


def test_a_url_that_cannot_be_read_is_not_shown():
    assert safe_url(f"redis://:{SECRET}@[::1") == "<unreadable URL>"


def test_settings_follow_an_override(settings):
    before = get_settings()
    settings.FORGEQUEUE = {"CONCURRENCY": 9}

    assert (before.concurrency, get_settings().concurrency) == (4, 9)
    assert get_settings() is get_settings()


def test_a_worker_serves_the_default_queue_under_its_own_name(settings):
    settings.FORGEQUEUE = {"DEFAULT_QUEUE": "mail"}

    assert get_settings().served_queues == (("mail", 1),)


def test_without_a_base_dir_projects_have_engines_of_their_own(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    settings.FORGEQUEUE, settings.BASE_DIR = {}, None

    folder = get_settings().engine_dir

    assert folder.is_relative_to(tmp_path / "forgequeue")
    assert folder.name == "engine"


def test_every_setting_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")

    assert {key for key in KEYS if f"`{key}`" not in text} == set()
