"""One reader per kind of value in settings.FORGEQUEUE: the typed value, or Wrong with what to write instead."""

import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from django.conf import settings as django_settings

from queue_app.core.backoff import Backoff, backoff_rule
from queue_app.core.errors import InvalidArgument, InvalidName
from queue_app.core.names import plain_text, valid_queue
from queue_app.core.retention import Retention
from queue_app.core.showing import shown

T = TypeVar("T")

LOCAL_SCHEMES = ("embedded", "memory")
SERVER_SCHEMES = (
    "redis",
    "rediss",
    "unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
)
_LISTED = "embedded://, memory://, redis://, rediss://, unix://, redis+sentinel://, redis+cluster://"
_ADDRESS = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})", re.ASCII)
_DATABASE = re.compile(r"/?\d{0,5}", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{0,100}", re.ASCII)
_RETENTION = {"cancelled": "cancelled_seconds", "dead": "dead_seconds", "idempotency": "idempotency_seconds"}
_LONGEST_SECONDS = 100 * 366 * 86_400


class Wrong(Exception):
    """A value cannot be used. `message` says what it is, `hint` what it should be; both end in a full stop."""

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message, hint)


def whole(lowest: int, highest: int) -> Callable[[object], int]:
    """A whole number within limits; no bool, no text."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise _wrong(value, f"a whole number from {lowest:,} to {highest:,}")
        return value

    return read


def seconds(lowest: float, highest: float) -> Callable[[object], float]:
    """A number of seconds or a timedelta, within limits."""

    def read(value: object) -> float:
        number = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
            raise _wrong(value, f"seconds from {lowest:,} to {highest:,}, or a timedelta")
        return float(number)

    return read


def optional(reader: Callable[[object], T], meaning: str) -> Callable[[object], T | None]:
    """None, or what `reader` accepts."""

    def read(value: object) -> T | None:
        if value is None:
            return None
        try:
            return reader(value)
        except Wrong as wrong:
            raise Wrong(wrong.message, f"{wrong.hint[:-1]}, or None {meaning}.") from None

    return read


def flag(value: object) -> bool:
    """True or False, and nothing that merely looks like it: the text "False" is true."""
    if not isinstance(value, bool):
        raise _wrong(value, "True or False")
    return value


def queue(value: object) -> str:
    """A queue's name."""
    try:
        return valid_queue(value)  # type: ignore[arg-type]
    except InvalidName:
        raise _wrong(value, "a queue name: 1 to 100 letters, digits, '_', '.' or '-'") from None


def prefix(value: object) -> str:
    """What goes before every key."""
    if not isinstance(value, str) or not _PREFIX.fullmatch(value):
        raise _wrong(value, "up to 100 letters, digits, '_', '.', ':' or '-', such as \"shop:\"")
    return plain_text(value)


def folder(value: object) -> Path:
    """An absolute path: with a relative one, processes started in two places would start two engines."""
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise _wrong(value, 'an absolute path, such as BASE_DIR / "var" / "engine"')
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise _wrong(str(value), 'an absolute path, such as BASE_DIR / "var" / "engine"')
    return path


def url(value: object) -> str:
    """A URL of a store, or a bare `host:port`, which is Redis. The value is never shown."""
    hint = f"Write host:port, or a URL that begins with one of {_LISTED}."
    if not isinstance(value, str) or not value:
        raise Wrong(f"is {_kind(value)}, not a URL." if value else "is empty.", hint)
    if "://" not in value:
        address = _ADDRESS.fullmatch(value)
        if not address or not 0 < int(address[1]) < 65_536:
            raise Wrong("is neither host:port nor a URL.", hint)
        return f"redis://{value}"
    scheme, _, rest = value.partition("://")
    if scheme not in (*LOCAL_SCHEMES, *SERVER_SCHEMES):
        raise Wrong("begins with a scheme that no store has.", hint)
    if scheme in LOCAL_SCHEMES and rest:
        raise Wrong(f"has something after {scheme}://.", f"Write {scheme}:// and nothing more.")
    if scheme in SERVER_SCHEMES:
        _check_server(scheme, value)
    return value


def backoff(value: object) -> Backoff | None:
    """The rule for the wait between attempts."""
    try:
        return backoff_rule(value)  # type: ignore[arg-type]
    except InvalidArgument as error:
        raise Wrong(
            f"cannot be used: {error}.", "Write 'fixed', 'linear', 'exponential', seconds, or a list of seconds."
        ) from None


def retention(value: object) -> Retention:
    """How long the store remembers what is over, from a dict with some of its names."""
    hint = 'Write a dict such as {"cancelled": 86400, "dead": None, "idempotency": 86400}.'
    if not isinstance(value, Mapping):
        raise Wrong(f"is {_kind(value)}, not a dict.", hint)
    given = {}
    for name, lifetime in value.items():
        if name not in _RETENTION:
            raise Wrong(f"has no {shown(name)}.", hint)
        if lifetime is None and name == "idempotency":
            raise Wrong("['idempotency'] is None.", "Write seconds or a timedelta: keys cannot be kept for ever.")
        try:
            given[_RETENTION[name]] = optional(seconds(0, _LONGEST_SECONDS), "to keep for ever")(lifetime)
        except Wrong as wrong:
            raise Wrong(f"[{shown(name)}] {wrong.message}", wrong.hint) from None
    return Retention(**given)  # type: ignore[arg-type]


def discover(value: object) -> bool | tuple[str, ...]:
    """True, False, or modules to import."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) and each for each in value):
        return tuple(value)
    raise _wrong(value, 'True, False, or a list of modules such as ["shop.tasks"]')


def weights(value: object) -> tuple[tuple[str, int], ...]:
    """Queues with weights, from a dict or a list of names, which weigh the same."""
    hint = 'Write {"mail": 6, "tasks": 3} (name: weight from 1 to 1,000), or a list of names.'
    if not isinstance(value, (list, tuple, Mapping)) or not value:
        raise Wrong("names no queue." if not value else f"is {_kind(value)}.", hint)
    pairs = value.items() if isinstance(value, Mapping) else [(name, 1) for name in value]
    try:
        return tuple({queue(name): whole(1, 1_000)(weight) for name, weight in pairs}.items())
    except Wrong as wrong:
        raise Wrong(f"has a name or weight that {wrong.message}", hint) from None


def user_data_dir() -> Path:
    """Where this platform keeps a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "forgequeue"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "forgequeue"


def project_key() -> str:
    """A name that another project of this user does not have: from where the settings module lies."""
    name = str(getattr(django_settings, "SETTINGS_MODULE", None) or "settings")
    place = getattr(sys.modules.get(name), "__file__", None) or name
    return f"{name}-{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"


def _check_server(scheme: str, value: str) -> None:
    example = "unix:///run/redis.sock" if scheme == "unix" else f"{scheme}://localhost:6379/0"
    try:
        parts = urlsplit(value)
        # A sentinel or cluster URL may name several hosts, of which urlsplit makes one with a strange port.
        is_complete = bool(parts.path) if scheme == "unix" else bool("+" in scheme or parts.hostname)
        if "+" not in scheme:
            _ = parts.port
            # The client library makes database 0 of whatever it cannot read there, and 78 of "7/8".
            is_complete = is_complete and (scheme == "unix" or bool(_DATABASE.fullmatch(parts.path)))
    except ValueError:
        is_complete = False
    if not is_complete:
        raise Wrong(f"is no complete {scheme}:// URL.", f"Write something like {example}.")


def _wrong(value: object, wanted: str) -> Wrong:
    return Wrong(f"is {shown(value)}.", f"Write {wanted}.")


def _kind(value: object) -> str:
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"
