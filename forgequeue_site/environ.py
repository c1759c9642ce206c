"""The environment as the site reads it: a value, or an error that names the variable. Never a silent default."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
LOCAL_ENGINES = ("embedded", "memory")
SERVERS = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")


def text(name: str) -> str | None:
    """The variable without surrounding blanks; None when it is unset or empty."""
    return os.environ.get(name, "").strip() or None


def flag(name: str, default: bool) -> bool:
    """A yes or no; anything else is refused."""
    value = text(name)
    if value is None:
        return default
    if value.lower() not in TRUE | FALSE:
        raise bad(name, value, "one of 1, 0, true, false, yes, no, on, off")
    return value.lower() in TRUE


def whole(name: str, minimum: int, maximum: int) -> int | None:
    """A whole number within limits; None when unset."""
    value = text(name)
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or not minimum <= int(value[:9]) <= maximum:
        raise bad(name, value, f"a whole number from {minimum} to {maximum}")
    return int(value)


def names(name: str, default: list[str]) -> list[str]:
    """Comma-separated names; `default` when unset."""
    value = text(name)
    return default if value is None else [part.strip() for part in value.split(",") if part.strip()]


def engine_url(name: str, default: str) -> str:
    """Where the engine is: `host:port`, which is Redis, or a URL. What may hold a password is not shown."""
    value = text(name)
    if value is None:
        return default
    scheme, separator, rest = value.partition("://")
    if separator and scheme in (SERVERS if rest else LOCAL_ENGINES):
        return value
    if not separator and _is_address(value):
        return f"redis://{value}"
    schemes = ", ".join(f"{engine}://" for engine in LOCAL_ENGINES + SERVERS)
    shown = f"{scheme}://…" if separator else value.rpartition("@")[2]
    raise bad(name, shown, f"host:port, or a URL that begins with one of {schemes}")


def secret(name: str, path: Path) -> str:
    """The variable, else the secret kept at `path`, which is made at the first call, readable by its owner only."""
    if value := text(name):
        return value
    if not path.exists():
        _make_secret(path)
    return path.read_text().strip()


def bad(name: str, value: str, wanted: str) -> ImproperlyConfigured:
    """The error for a variable that cannot be used."""
    return ImproperlyConfigured(f"{name}={value!r}: it must be {wanted}.")


def _is_address(value: str) -> bool:
    host, _, port = value.rpartition(":")
    return bool(host) and port.isascii() and port.isdigit() and 0 < int(port[:9]) < 65536


def _make_secret(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50))
    # A link, not a rename: of several processes that start at once the first decides, and nobody sees half a file.
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
