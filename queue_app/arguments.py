"""The arguments of a task as bytes and back, and a result too: every value arrives as it was, or is refused.

A payload is the JSON object `{"args": […], "kwargs": {…}}`. Text, whole numbers of any size, finite floats, True,
False, None, lists and dicts with text keys are plain JSON. What JSON has no word for is an object with the key
`__fq__`, which names its type: `{"__fq__": "uuid", "value": "…"}`. A dict of the user's that has this key is carried
as its pairs.

Refused, before anything is stored and with the place (`args[0].when`): NaN and infinities, other keys than text, text
that is no valid Unicode, subclasses of the types above (they would arrive as something else), objects, nesting beyond
100 levels, and what is larger than the limit. Only lazy translations and Django's SafeString change: they become str.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

from queue_app.carrying import MARK, MAX_DEPTH, Carrier, revive
from queue_app.core.errors import ForgeQueueError, InvalidArgument, PayloadTooLarge

__all__ = ["Unencodable", "decode", "decode_result", "encode", "encode_result"]

_MARK_BYTES = f'"{MARK}"'.encode()
_PLAIN = frozenset({str, int, bool, type(None)})


class _Payload(msgspec.Struct, forbid_unknown_fields=True):
    args: list[Any] = []
    kwargs: dict[str, Any] = {}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Payload).decode
_decode_value = msgspec.json.Decoder().decode


class Unencodable(ForgeQueueError):
    """The task succeeded, but what it returned could not be kept; the message says why."""


# --- arguments --------------------------------------------------------------------------------------------------------


def encode(args: tuple[Any, ...], kwargs: dict[str, Any], limit: int, what: str = "the arguments") -> bytes:
    """The payload. Raises InvalidArgument that names the place, or PayloadTooLarge with both sizes."""
    payload = _plainly(args, kwargs)
    if payload is None:
        payload = _carried(args, kwargs)
    if len(payload) > limit:
        raise too_large(what, len(payload), limit)
    return payload


def decode(payload: bytes | None) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in `payload`; no bytes at all are no arguments. Raises InvalidArgument when they are none."""
    if not payload:
        return [], {}
    try:
        both = _decode(payload)
        if _MARK_BYTES in payload:
            return revive(both.args), revive(both.kwargs)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f'the payload is no {{"args": […], "kwargs": {{…}}}} ({error}); @handler takes other payloads as bytes'
        ) from error
    return both.args, both.kwargs


def too_large(what: str, size: int, limit: int) -> PayloadTooLarge:
    """The error for bytes beyond the limit."""
    return PayloadTooLarge(f'{what} take {size:,} bytes; FORGEQUEUE["MAX_PAYLOAD_BYTES"] allows {limit:,}')


def _plainly(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | None:
    """The payload when JSON has a word for everything in it, else None: the usual case, and so a quick one."""
    if not _are_plain(args, MAX_DEPTH) or (kwargs and (MARK in kwargs or not _are_plain(kwargs.values(), MAX_DEPTH))):
        return None
    try:
        return _encode({"args": args, "kwargs": kwargs})
    except (ValueError, OverflowError):
        # A lone surrogate, or a number of thousands of digits: whoever looks again finds where.
        return None


def _carried(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    carrier = Carrier()
    return _encode(
        {
            "args": [carrier.carry(each, f"args[{index}]") for index, each in enumerate(args)],
            "kwargs": carrier.fields(kwargs, "kwargs"),
        }
    )


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is list:
        return depth > 0 and _are_plain(value, depth - 1)
    if kind is dict:
        for key in value:
            if type(key) is not str or key == MARK:
                return False
        return depth > 0 and _are_plain(value.values(), depth - 1)
    if kind is float:
        return isfinite(value)
    return kind in _PLAIN


def _are_plain(values: Iterable[Any], depth: int) -> bool:
    # A loop, since a generator in all() takes three times as long.
    for each in values:  # noqa: SIM110
        if type(each) not in _PLAIN and not _is_plain(each, depth):
            return False
    return True


# --- results ----------------------------------------------------------------------------------------------------------


def encode_result(value: Any, limit: int) -> bytes:
    """The bytes of what a handler returned. Never raises: the work is done, and must not be done again for its result.

    Where the result cannot be carried, or is too large, its place is taken by the reason, which decode_result raises.
    """
    try:
        result = _result(value)
    except InvalidArgument as error:
        return _unencodable(str(error))
    except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
        return _unencodable(f"{type(error).__name__}: {error}")
    return result if len(result) <= limit else _unencodable(str(too_large("the result", len(result), limit)))


def decode_result(result: bytes | None) -> Any:
    """What a handler returned. Raises Unencodable where that could not be kept, InvalidArgument for other bytes."""
    if not result:
        return None
    try:
        value = _decode_value(result)
        if _MARK_BYTES not in result:
            return value
        if isinstance(value, dict) and value.get(MARK) == "unencodable":
            raise Unencodable(str(value.get("value")))
        return revive(value)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"the result cannot be read: {error}") from error


def _result(value: Any) -> bytes:
    if type(value) in _PLAIN or _is_plain(value, MAX_DEPTH):
        try:
            return _encode(value)
        except (ValueError, OverflowError):
            pass
    return _encode(Carrier().carry(value, "result"))


def _unencodable(reason: str) -> bytes:
    return _encode({MARK: "unencodable", "value": reason.encode(errors="replace").decode()[:2_000]})
