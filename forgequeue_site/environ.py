"""The environment as the site reads it: a value, or an error that names the variable. Never a silent default."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
ENGINES = ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "embedded", "database", "memory")


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


def whole(name: str, minimum: int = 1) -> int | None:
    """A whole number of at least `minimum`; None when unset."""
    value = text(name)
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or int(value) < minimum:
        raise bad(name, value, f"a whole number of at least {minimum}")
    return int(value)


def names(name: str, default: list[str]) -> list[str]:
    """Comma-separated names; `default` when unset."""
    value = text(name)
    return default if value is None else [part.strip() for part in value.split(",") if part.strip()]


def engine_url(name: str, default: str) -> str:
    """Where the engine is: `host:port`, or a URL with one of ENGINES as its scheme. A bare address is redis://."""
    value = text(name)
    if value is None:
        return default
    scheme, separator, rest = value.partition("://")
    if not separator:
        return f"redis://{_address(name, value)}"
    if scheme not in ENGINES or not (rest or scheme in {"embedded", "database", "memory"}):
        schemes = ", ".join(f"{engine}://" for engine in ENGINES)
        raise bad(name, f"{scheme}://…", f"host:port, or a URL that begins with one of {schemes}")
    return value


def secret(name: str, path: Path) -> str:
    """The variable, else the secret kept at `path`, which is made at the first call, readable by its owner only."""
    if value := text(name):
        return value
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50))
    try:
        # link, not replace: of several processes that start at once the first decides, and nobody sees half a file.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()


def bad(name: str, value: str, wanted: str) -> ImproperlyConfigured:
    """The error for a variable that cannot be used."""
    return ImproperlyConfigured(f"{name}={value!r}: it must be {wanted}.")


def _address(name: str, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise bad(name, value, "host:port, or a URL such as redis://host:6379/0")
    return value
