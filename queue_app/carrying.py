"""How values that JSON has no word for travel in it: out by Carrier, back by revive. One table entry per type.

The slow half of `arguments`: it runs only for arguments that hold such a value, and to find what is wrong with them.
"""

import base64
import importlib
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from queue_app.core.errors import InvalidArgument
from queue_app.core.showing import shown

MARK = "__fq__"
"""The key of a JSON object that stands for a value of another type."""
MAX_DEPTH = 100
"""Levels of lists, dicts, tuples and sets in one another."""
_MAX_INT_BITS = 13_000
# Python refuses to read more than 4,300 digits back from text, since that takes quadratic time.
_PLAIN = frozenset({int, bool, type(None)})

_encode = msgspec.json.Encoder().encode


class Carrier:
    """Turns values into what JSON can hold. Raises InvalidArgument that names the place."""

    def __init__(self) -> None:
        self._within: set[int] = set()

    def carry(self, value: Any, path: str) -> Any:
        """`value`, or an object with MARK in its place."""
        kind = type(value)
        if kind is str:
            return _text(value, path)
        if kind in _PLAIN:
            return _number(value, path) if kind is int else value
        if kind is float:
            return _finite(value, path)
        if kind in _CONTAINERS:
            return self._container(kind, value, path)
        if kind in _CARRIED:
            return _marked(*_CARRIED[kind](value, path))
        return _unusual(value, path)

    def _container(self, kind: type, value: Any, path: str) -> Any:
        if id(value) in self._within:
            raise InvalidArgument(f"{path} contains itself")
        if len(self._within) >= MAX_DEPTH:
            raise InvalidArgument(f"{path} is nested deeper than {MAX_DEPTH} levels")
        self._within.add(id(value))
        try:
            if kind is dict:
                return self.fields(value, path)
            items = [self.carry(each, f"{path}[{index}]") for index, each in enumerate(value)]
        finally:
            self._within.discard(id(value))
        if kind is list:
            return items
        # A set has another order in each process; its bytes must not, since an idempotency key compares them.
        return _marked(kind.__name__, items if kind is tuple else sorted(items, key=_encode))

    def fields(self, value: dict[Any, Any], path: str) -> Any:
        """`value`, a dict, whose values are carried each."""
        pairs = [(_key(key, path), self.carry(each, f"{path}.{key}")) for key, each in value.items()]
        return _marked("dict", pairs) if MARK in value else dict(pairs)


def revive(value: Any) -> Any:
    """What the carrier was given. Raises ValueError for an object with MARK that is none of its."""
    if type(value) is list:
        return [revive(each) for each in value]
    if type(value) is not dict:
        return value
    if MARK not in value:
        return {key: revive(each) for key, each in value.items()}
    name = value[MARK]
    reviver = _REVIVED.get(name) if isinstance(name, str) else None
    if reviver is None:
        raise ValueError(f"it holds a value of the type {shown(name)}, which this version does not know")
    try:
        return reviver(value)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, ImportError) as error:
        raise ValueError(f"it holds a {name} that cannot be read: {error}") from error


# --- out --------------------------------------------------------------------------------------------------------------


def _marked(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {MARK: name, "value": value, **more}


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{path} is text with half a character (a lone surrogate) in it") from error
    return value


def _key(key: object, path: str) -> str:
    if type(key) is not str:
        raise InvalidArgument(f"{path} has the key {shown(key)}, which is no text; use text keys, or a list of pairs")
    return _text(key, f"a key of {path}")


def _number(value: int, path: str) -> int:
    if value.bit_length() > _MAX_INT_BITS:
        raise InvalidArgument(
            f"{path} is a whole number of {value.bit_length():,} bits; {_MAX_INT_BITS:,} are the most"
        )
    return value


def _finite(value: float, path: str) -> float:
    if not isfinite(value):
        raise InvalidArgument(f"{path} is {value}, which JSON cannot carry")
    return value


def _decimal(value: Decimal, path: str) -> tuple[str, str]:
    if not value.is_finite():
        raise InvalidArgument(f"{path} is Decimal('{value}'), which is no number")
    return "decimal", str(value)


def _moment(kind: str) -> Callable[[datetime | time, str], tuple[str, str]]:
    def carry(value: datetime | time, path: str) -> tuple[str, str]:
        return kind, " ".join([value.isoformat(), *_zone(value.tzinfo, path), *(["fold"] if value.fold else [])])

    return carry


def _zone(zone: tzinfo | None, path: str) -> list[str]:
    """The name of a zone, whose offset follows from the date. An offset is in the time's own text."""
    if isinstance(zone, ZoneInfo) and zone.key:
        return [zone.key]
    if zone is None or type(zone).__module__ == "datetime":
        return []
    raise InvalidArgument(f"{path} has the time zone {shown(zone)}; use zoneinfo.ZoneInfo or datetime.timezone")


def _timedelta(value: timedelta, _: str) -> tuple[str, list[int]]:
    return "timedelta", [value.days, value.seconds, value.microseconds]


_CONTAINERS = frozenset({list, dict, tuple, set, frozenset})
_CARRIED: dict[type, Callable[[Any, str], tuple[str, Any]]] = {
    UUID: lambda value, _: ("uuid", str(value)),
    datetime: _moment("datetime"),
    date: lambda value, _: ("date", value.isoformat()),
    time: _moment("time"),
    timedelta: _timedelta,
    Decimal: _decimal,
    bytes: lambda value, _: ("bytes", base64.b64encode(value).decode()),
}


def _unusual(value: Any, path: str) -> Any:
    kind = type(value)
    if isinstance(value, Enum):
        return _marked("enum", _enum(value, path))
    if isinstance(value, Promise) and hasattr(value, "casefold"):
        return _text(str(value), path)
    if kind is SafeString:
        return _text(str.__str__(value), path)
    if kind.__module__ == "freezegun.api":
        # A test with a frozen clock passes the library's own dates: carry what they stand for.
        return _marked(*_CARRIED[next(base for base in kind.__mro__ if base in _CARRIED)](value, path))
    raise InvalidArgument(f"{path} {_advice(value)}")


def _enum(value: Enum, path: str) -> list[str]:
    kind = type(value)
    place = [kind.__module__, kind.__qualname__]
    try:
        is_importable = _found(*place) is kind and kind[value.name] is value
    except (LookupError, TypeError, AttributeError, ImportError):
        is_importable = False
    if not is_importable:
        raise InvalidArgument(
            f"{path} is {shown(value)} of the Enum {'.'.join(place)}, which a worker cannot import; "
            "define it in a module of an installed app, or pass its value"
        )
    return [*place, value.name]


def _advice(value: Any) -> str:
    """What to pass instead."""
    from django.db.models import Manager, Model, QuerySet

    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if isinstance(value, Model):
        return f"is the model instance {value._meta.label}; pass the pk, and let the task read it anew"
    if isinstance(value, (QuerySet, Manager)):
        return f"is a {kind.__name__}; pass the pks: list(queryset.values_list('pk', flat=True))"
    for base in (str, bool, int, float, dict, list, tuple, set, frozenset, bytes, datetime, date, Decimal, UUID):
        if isinstance(value, base):
            return f"is a {name}, which would arrive as a plain {base.__name__}; pass {base.__name__}(…) of it"
    if isinstance(value, (bytearray, memoryview)):
        return f"is a {name}; pass bytes(…) of it"
    return f"is a {name}, which cannot be carried; pass plain values, and let the task make it"


# --- back -------------------------------------------------------------------------------------------------------------


def _found(module: str, qualname: str) -> Any:
    """A name in a module that is loaded, or that belongs to an installed app: a payload can import nothing else."""
    found: Any = sys.modules.get(module)
    if found is None:
        from django.apps import apps

        if not any(module == each.name or module.startswith(f"{each.name}.") for each in apps.get_app_configs()):
            raise ImportError(f"{module} is not loaded, and not part of an installed app")
        found = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    return found


def _revived_enum(value: Any) -> Enum:
    module, qualname, name = value["value"]
    kind = _found(module, qualname)
    if not isinstance(kind, type) or not issubclass(kind, Enum):
        raise ValueError(f"{module}.{qualname} is no Enum")
    return kind[name]


def _revived_moment(kind: type[datetime] | type[time]) -> Callable[[Any], datetime | time]:
    def back(value: Any) -> datetime | time:
        text, *more = value["value"].split(" ")
        moment = kind.fromisoformat(text)
        zones = [each for each in more if each != "fold"]
        if zones:
            moment = moment.replace(tzinfo=ZoneInfo(zones[0]))
        return moment.replace(fold=1) if "fold" in more else moment

    return back


_REVIVED: dict[str, Callable[[Any], Any]] = {
    "uuid": lambda value: UUID(value["value"]),
    "datetime": _revived_moment(datetime),
    "date": lambda value: date.fromisoformat(value["value"]),
    "time": _revived_moment(time),
    "timedelta": lambda value: timedelta(*value["value"]),
    "decimal": lambda value: Decimal(value["value"]),
    "bytes": lambda value: base64.b64decode(value["value"], validate=True),
    "enum": _revived_enum,
    "tuple": lambda value: tuple(revive(value["value"])),
    "set": lambda value: set(revive(value["value"])),
    "frozenset": lambda value: frozenset(revive(value["value"])),
    "dict": lambda value: {str(key): revive(each) for key, each in value["value"]},
}
