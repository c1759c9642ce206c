"""The Lua scripts: read from this package, their shared steps spliced in by name."""

import hashlib
import re
from functools import cache
from importlib.resources import files

import msgspec

from queue_app.core.errors import ConfigurationError

_INCLUDE = re.compile(r"^-- include: (\w+)\n", re.MULTILINE)


class Script(msgspec.Struct, frozen=True):
    """A script as Redis gets it. `sha` is its name in EVALSHA."""

    name: str
    source: str
    sha: str


@cache
def load(name: str) -> Script:
    """The script `lua/<name>.lua`. Raises ConfigurationError for a missing file or include."""
    source = _splice(name, _read(f"{name}.lua"))
    # Redis names a script by the SHA-1 of its text (EVALSHA); it is no secret and guards nothing.
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def names() -> list[str]:
    """Every script there is, sorted."""
    folder = files(__package__) / "lua"
    return sorted(each.name.removesuffix(".lua") for each in folder.iterdir() if each.name.endswith(".lua"))


def _splice(name: str, text: str) -> str:
    def include(match: re.Match[str]) -> str:
        step = _read(f"lib/{match[1]}.lua")
        if _INCLUDE.search(step):
            raise ConfigurationError(f"lib/{match[1]}.lua includes another step; only {name}.lua and its like do")
        return step

    return _INCLUDE.sub(include, text)


def _read(path: str) -> str:
    try:
        return (files(__package__) / "lua" / path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigurationError(f"lua/{path} is missing from the package") from error
