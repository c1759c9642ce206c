"""The one reader of `settings.FORGEQUEUE`: a typed value, or an error that says what to write instead.

Whatever is wrong is found by `manage.py check`, all of it at once, and raised as ConfigurationError by whoever needs
the settings first. Nothing here connects to anything, and a URL is never shown: it may hold a password.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed

from queue_app import setting_values as values
from queue_app.core.backoff import Backoff
from queue_app.core.errors import ConfigurationError
from queue_app.core.names import DEFAULT_QUEUE
from queue_app.core.retention import Retention
from queue_app.core.showing import shown
from queue_app.setting_values import Wrong

NAME = "FORGEQUEUE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What settings.FORGEQUEUE says, with defaults for what it does not. Durations are seconds."""

    url: str = field(default="embedded://", repr=False)
    """Where the tasks are. Not in the repr, since it may hold a password: `core.showing.safe_url` can."""
    embedded_dir: Path | None = None
    """Where the embedded engine keeps its data, when that was said; `engine_dir` is where it does."""
    prefix: str = ""
    """Goes before every key: several installations on one server."""
    default_queue: str = DEFAULT_QUEUE
    """Where tasks go that name no queue."""
    processes: int = 1
    concurrency: int = 4
    """Slots of a worker."""
    batch_size: int | None = None
    """Tasks that a slot claims at once; None adapts it to the work."""
    lease_seconds: float = 10.0
    """How long a lease lasts between two beats."""
    drain_timeout: float = 30.0
    """How long a worker that was told to stop lets running tasks go on."""
    max_payload_bytes: int = 1024 * 1024
    """The most that the arguments, or the result, of one task may take when encoded."""
    max_attempts: int | None = 4
    """Runs in all of a task that says nothing of it; None for no limit."""
    backoff: Backoff | None = None
    """The wait between attempts of a task that says nothing of it; None is the built-in rule."""
    retention: Retention = field(default_factory=Retention)
    """How long the store remembers what is over."""
    enqueue_on_commit: bool = True
    """Whether an enqueue inside a transaction waits for its COMMIT."""
    eager: bool = False
    """Run tasks where they are enqueued, without any store."""
    discover: bool | tuple[str, ...] = True
    """Import `tasks` of every installed app, or exactly these modules, or nothing."""
    claim_runworker: bool = True
    """Whether `manage.py runworker` is ours where another app has such a command."""
    foreign_producers: bool = False
    """Whether others push tasks into our store and ring nobody: idle workers then look every second."""
    log_each_task: bool = False
    """Whether a worker logs each task that ran well."""
    queues: tuple[tuple[str, int], ...] = ()
    """What a worker serves unless it is told, with weights; empty stands for the default queue."""

    @property
    def engine_dir(self) -> Path:
        """Where the embedded engine keeps its data: BASE_DIR/var/engine, without BASE_DIR a folder of this user's."""
        return self.embedded_dir or _default_engine_dir()

    @property
    def served_queues(self) -> tuple[tuple[str, int], ...]:
        """What a worker serves unless it is told, with weights."""
        return self.queues or ((self.default_queue, 1),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with the settings. `setting` is empty when it is the whole dict."""

    setting: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message} {self.hint}"


@cache
def get_settings() -> Settings:
    """The settings in force. Raises ConfigurationError that names everything which is wrong."""
    settings, problems = read_settings()
    if problems:
        raise ConfigurationError(" ".join(str(problem) for problem in problems))
    return settings


def read_settings() -> tuple[Settings, list[Problem]]:
    """The settings with the default in place of whatever is wrong, and what that is."""
    given = getattr(django_settings, NAME, {})
    if not isinstance(given, Mapping):
        hint = f'Write {NAME} = {{"URL": "redis://localhost:6379/0"}}, or leave it out.'
        return Settings(), [Problem(setting="", message=f"{NAME} is no dict.", hint=hint)]
    settings, problems = Settings(), []
    for key, value in given.items():
        try:
            settings = replace(settings, **_read(key, value))
        except Wrong as wrong:
            problems.append(Problem(setting=str(key), message=wrong.message, hint=wrong.hint))
    return settings, problems


def _default_engine_dir() -> Path:
    base_dir = getattr(django_settings, "BASE_DIR", None)
    return Path(base_dir) / "var" / "engine" if base_dir else values.user_data_dir() / values.project_key() / "engine"


def _read(key: object, value: object) -> dict[str, Any]:
    reader = _READERS.get(key) if isinstance(key, str) else None
    if reader is None:
        raise Wrong(f"{NAME} has no setting {shown(key)}.", _suggestion(str(key)))
    try:
        return {str(key).lower(): reader(value)}
    except Wrong as wrong:
        raise Wrong(f'{NAME}["{key}"] {wrong.message}', wrong.hint) from None


def _suggestion(key: str) -> str:
    near = get_close_matches(key.upper(), _READERS, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(_READERS))}."


_READERS: dict[str, Callable[[object], object]] = {
    "URL": values.url,
    "EMBEDDED_DIR": values.folder,
    "PREFIX": values.prefix,
    "DEFAULT_QUEUE": values.queue,
    "PROCESSES": values.whole(0, 1_000),
    "CONCURRENCY": values.whole(1, 1_000),
    "BATCH_SIZE": values.optional(values.whole(1, 1_000), "to adapt it to the work"),
    "LEASE_SECONDS": values.seconds(0.1, 86_400),
    "DRAIN_TIMEOUT": values.seconds(0, 86_400),
    "MAX_PAYLOAD_BYTES": values.whole(1, 256 * 1024 * 1024),
    "MAX_ATTEMPTS": values.optional(values.whole(1, 1_000_000), "for no limit"),
    "BACKOFF": values.backoff,
    "RETENTION": values.retention,
    "ENQUEUE_ON_COMMIT": values.flag,
    "EAGER": values.flag,
    "DISCOVER": values.discover,
    "CLAIM_RUNWORKER": values.flag,
    "FOREIGN_PRODUCERS": values.flag,
    "LOG_EACH_TASK": values.flag,
    "QUEUES": values.weights,
}
KEYS = tuple(_READERS)
"""Every setting there is."""
assert {key.lower() for key in _READERS} == {each.name for each in fields(Settings)}  # noqa: S101 - a slip of ours


def _forget(*, setting: str, **_: object) -> None:
    """Django tells of `override_settings` this way."""
    if setting in (NAME, "BASE_DIR"):
        get_settings.cache_clear()


setting_changed.connect(_forget, dispatch_uid="forgequeue.conf")
