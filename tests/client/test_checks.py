"""What `manage.py check` says."""

import importlib.util

import pytest
from django.core.checks import registry as check_registry
from django.core.checks import run_checks
from django.core.management import get_commands

from queue_app import checks


def ids(**options) -> list[str]:
    return [each.id for each in run_checks(tags=["forgequeue"], **options)]


def test_right_settings_pass(settings):
    settings.FORGEQUEUE = {"URL": "redis://localhost:6379"}

    assert ids() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://", ["forgequeue.E001"]),
        ({"URL": "redis://localhost", "COLOUR": "red"}, ["forgequeue.E002"]),
        ({"URL": "amqp://localhost"}, ["forgequeue.E003"]),
        (
            {"URL": "redis://localhost", "CONCURRENCY": 0, "EAGER": 1, "X": 1},
            ["forgequeue.E003"] * 2 + ["forgequeue.E002"],
        ),
    ],
    ids=repr,
)
def test_each_mistake_is_an_error_with_a_hint(settings, monkeypatch, given, expected):
    monkeypatch.setattr(checks, "find_spec", lambda _: True)
    settings.FORGEQUEUE = given

    found = run_checks(tags=["forgequeue"])

    assert [each.id for each in found] == expected
    assert all(each.hint and each.level == 40 for each in found)


def test_a_missing_embedded_engine_is_told_before_the_first_task(settings, monkeypatch):
    settings.FORGEQUEUE = {}
    monkeypatch.setattr(checks, "find_spec", lambda name: importlib.util.find_spec("no_such_module_here"))

    assert ids() == ["forgequeue.W001"]


@pytest.mark.parametrize("url", ["memory://", "embedded://"])
def test_a_store_for_beginners_is_told_of_when_deploying(settings, monkeypatch, url):
    monkeypatch.setattr(checks, "find_spec", lambda _: True)
    settings.FORGEQUEUE = {"URL": url}

    assert ids() == []
    assert ids(include_deployment_checks=True) == ["forgequeue.W002"]


def test_nobody_has_to_say_who_has_runworker_where_only_we_do():
    assert checks.check_command() == []


@pytest.mark.parametrize(("owner", "expected"), [("queue_app", "forgequeue.I001"), ("channels", "forgequeue.W003")])
def test_two_commands_of_one_name_are_told_of(monkeypatch, owner, expected):
    monkeypatch.setattr(checks, "find_commands", lambda _: ["runworker"])
    monkeypatch.setitem(get_commands(), "runworker", owner)

    [message] = checks.check_command()

    assert message.id == expected


def test_checks_are_registered_once():
    count = len(check_registry.registry.get_checks(include_deployment_checks=True))
    checks.register_all()

    assert len(check_registry.registry.get_checks(include_deployment_checks=True)) == count


def test_a_check_of_a_deployment_starts_no_engine(settings, monkeypatch):
    settings.FORGEQUEUE = {"URL": "embedded://"}
    monkeypatch.setattr(checks, "get_broker", lambda: pytest.fail("a check asked for the store"))

    assert checks.check_store() == []
