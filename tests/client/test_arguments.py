"""Arguments arrive as they were, or are refused with the place where they are wrong."""

import json
import math
import sys
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils.functional import SimpleLazyObject, lazy
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy, override
from hypothesis import given
from hypothesis import strategies as st

from queue_app import arguments
from queue_app.core.errors import InvalidArgument, PayloadTooLarge
from queue_app.core.showing import shown
from tests.client.samples import Color, Outer, Rights, Size

LIMIT = 1_000_000
BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001 - naive on purpose
POINT = namedtuple("POINT", "x y")


def there_and_back(*args, **kwargs):
    return arguments.decode(arguments.encode(args, kwargs, LIMIT))


def refusal(*args, **kwargs) -> str:
    with pytest.raises(InvalidArgument) as caught:
        arguments.encode(args, kwargs, LIMIT)
    return str(caught.value)


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


ROUND_TRIPS = [
    "text",
    "",
    "zero \0 and 😀",
    0,
    -1,
    2**53 + 1,
    2**63,
    2**64,
    2**70,
    -(2**70),
    10**3900,
    True,
    False,
    None,
    1.5,
    1.0,
    1e22,
    5e-324,
    sys.float_info.max,
    [],
    {},
    [[1, [2]], {"a": {"b": []}}],
    (),
    (1, "a", (2,)),
    {1, 2, 3},
    {"a", (1, 2)},
    frozenset({1}),
    set(),
    b"",
    b"\x00\xff",
    UUID("12345678-1234-5678-1234-567812345678"),
    Decimal("1.10"),
    Decimal("-0"),
    Decimal("1E+400"),
    timedelta(days=-1, microseconds=1),
    timedelta.max,
    date(1, 1, 1),
    time(1, 2, 3, 4),
    time(1, 2, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    NAIVE,
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=-3))),
    datetime(2026, 7, 2, tzinfo=BERLIN),
    Color.RED,
    Size.LARGE,
    Outer.Level.HIGH,
    Rights.READ,
    {"__fq__": "uuid", "value": "no uuid"},
    {"__fq__": {"__fq__": 1}},
    {"a": {"__fq__": [UUID(int=0)]}},
    "__fq__",
    ['"__fq__"'],
]


@pytest.mark.parametrize("value", ROUND_TRIPS)
@pytest.mark.parametrize("place", ["argument", "keyword", "deep"])
def test_a_value_arrives_with_its_type(value, place):
    match place:
        case "argument":
            back = there_and_back(value)[0][0]
        case "keyword":
            back = there_and_back(name=value)[1]["name"]
        case _:
            back = there_and_back({"deep": [Color.RED, value]})[0][0]["deep"][1]

    assert back == value
    assert type(back) is type(value)


def test_minus_zero_keeps_its_sign():
    ([back], _) = there_and_back(-0.0)

    assert math.copysign(1, back) == -1


def test_types_inside_of_containers_are_kept():
    ([back], _) = there_and_back({"a": (1, [b"x"], {Decimal("1.0")})})

    assert [type(each) for each in back["a"]] == [int, list, set]
    assert type(next(iter(back["a"][2]))) is Decimal


@pytest.mark.parametrize("fold", [0, 1])
def test_the_second_of_two_equal_hours_stays_the_second(fold):
    moment = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold)

    ([back], _) = there_and_back(moment)

    assert (back.fold, back.tzinfo, back.utcoffset()) == (fold, BERLIN, moment.utcoffset())


def test_a_naive_datetime_stays_naive():
    ([back], _) = there_and_back(NAIVE.replace(fold=1))

    assert (back.tzinfo, back.fold) == (None, 1)


def test_an_aware_one_keeps_its_zone_and_not_only_its_offset():
    ([back], _) = there_and_back(datetime(2026, 7, 1, tzinfo=BERLIN))

    assert (back + timedelta(days=180)).utcoffset() == timedelta(hours=1)


def test_arguments_are_plain_json_where_json_has_a_word_for_them():
    payload = arguments.encode((1, "ä", None), {"a": [True, 1.5]}, LIMIT)

    assert json.loads(payload) == {"args": [1, "ä", None], "kwargs": {"a": [True, 1.5]}}
    assert "ä".encode() in payload


def test_other_types_are_objects_that_name_them():
    payload = arguments.encode((UUID(int=1),), {}, LIMIT)

    assert json.loads(payload)["args"] == [{"__fq__": "uuid", "value": "00000000-0000-0000-0000-000000000001"}]


def test_equal_sets_have_equal_bytes():
    # In a small set 0 and 8 collide: the order in which they were added is the order that it has.
    one, other = set(range(0, 9, 8)), set(range(8, -1, -8))
    assert list(one) != list(other)

    assert arguments.encode((one,), {}, LIMIT) == arguments.encode((other,), {}, LIMIT)


@pytest.mark.parametrize(
    "name", ["task", "args", "kwargs", "queue", "self", "delay", "id", "priority", "context", "result", "__fq__"]
)
def test_a_keyword_argument_of_any_name_arrives(name):
    assert there_and_back(**{name: 1}) == ([], {name: 1})


# --- what changes, on purpose -----------------------------------------------------------------------------------------


def test_a_lazy_translation_becomes_text_in_the_language_of_the_caller():
    with override("de"):
        ([back], _) = there_and_back(gettext_lazy("Yes"))

    assert (back, type(back)) == ("Ja", str)


def test_text_that_django_marked_as_safe_becomes_plain_text():
    ([back], _) = there_and_back(mark_safe("<b>bold</b>"))

    assert (back, type(back)) == ("<b>bold</b>", str)


# --- what is refused --------------------------------------------------------------------------------------------------

NUMBER_SUBCLASS = type("Meters", (int,), {})(3)
TEXT_SUBCLASS = type("Name", (str,), {})("x")
DICT_SUBCLASS = OrderedDict(a=1)


class LocalZone(tzinfo):
    def utcoffset(self, _):
        return timedelta(0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "args[0] is nan"),
        (float("inf"), "args[0] is inf"),
        (float("-inf"), "args[0] is -inf"),
        (1e400, "args[0] is inf"),
        (Decimal("NaN"), "Decimal('NaN')"),
        (Decimal("sNaN"), "Decimal('sNaN')"),
        (Decimal("-Infinity"), "Decimal('-Infinity')"),
        ({1: "a"}, "args[0] has the key 1, which is no text"),
        ({None: "a"}, "the key None"),
        ({True: "a"}, "the key True"),
        ({Size.LARGE: "a"}, "which is no text"),
        ("\ud800", "args[0] is text with half a character"),
        ({"\ud800": 1}, "a key of args[0] is text with half a character"),
        pytest.param(10**5000, "args[0] is a whole number of", id="huge"),
        (nested(101), "is nested deeper than 100 levels"),
        (nested(1000), "is nested deeper than 100 levels"),
        (NUMBER_SUBCLASS, "would arrive as a plain int"),
        (TEXT_SUBCLASS, "would arrive as a plain str"),
        (DICT_SUBCLASS, "would arrive as a plain dict"),
        (POINT(1, 2), "would arrive as a plain tuple"),
        (bytearray(b"x"), "pass bytes(…) of it"),
        (memoryview(b"x"), "pass bytes(…) of it"),
        (object(), "args[0] is a object, which cannot be carried"),
        (lambda: None, "which cannot be carried"),
        (iter([]), "which cannot be carried"),
        (range(3), "which cannot be carried"),
        (1j, "which cannot be carried"),
        (ValueError("x"), "which cannot be carried"),
        (Rights.READ | Rights.WRITE, "which a worker cannot import"),
        (datetime(2026, 1, 1, tzinfo=LocalZone()), "use zoneinfo.ZoneInfo"),
        (lazy(lambda: 3, int)(), "which cannot be carried"),
    ],
)
def test_what_would_not_arrive_as_it_is_is_refused(value, words):
    assert words in refusal(value)


@pytest.mark.parametrize(
    ("args", "kwargs", "path"),
    [
        ((1, float("nan")), {}, "args[1] "),
        (({"when": float("nan")},), {}, "args[0].when "),
        ((), {"a": [1, {"b": object()}]}, "kwargs.a[1].b "),
        (((1, {float("inf")}),), {}, "args[0][1][0] "),
    ],
)
def test_a_refusal_names_the_place(args, kwargs, path):
    assert refusal(*args, **kwargs).startswith(path)


def test_an_enum_that_cannot_be_imported_is_refused():
    class Local(Enum):
        ONE = 1

    assert "which a worker cannot import" in refusal(Local.ONE)


def test_a_list_that_contains_itself_is_refused():
    value: list = [1]
    value.append(value)

    assert refusal(value) == "args[0][1] contains itself"


def test_the_same_list_twice_is_no_loop():
    same = [Color.RED]

    ([back], _) = there_and_back([same, same])

    assert back == [[Color.RED], [Color.RED]]


@pytest.mark.parametrize("filler", [1, Color.RED], ids=["plain", "carried"])
def test_a_hundred_levels_are_accepted_wherever_they_are(filler):
    ([_], kwargs) = there_and_back(filler, deep=nested(100))

    assert kwargs == {"deep": nested(100)}


def test_a_model_instance_is_refused_with_what_to_pass_instead():
    words = refusal([get_user_model()(pk=3)])

    assert words.startswith("args[0][0] is the model instance auth.User; pass the pk")


def test_so_is_one_behind_a_lazy_object():
    assert "pass the pk" in refusal(SimpleLazyObject(lambda: Group(pk=3)))


def test_a_queryset_and_a_manager_are_refused_without_a_query():
    assert "values_list('pk', flat=True)" in refusal(Group.objects.all())
    assert "values_list('pk', flat=True)" in refusal(Group.objects)


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["a", "ä", "😀"])
def test_the_limit_counts_encoded_bytes(letter):
    empty = len(arguments.encode(("",), {}, LIMIT))
    limit = empty + 10 * len(letter.encode())

    assert len(arguments.encode((letter * 10,), {}, limit)) == limit
    with pytest.raises(PayloadTooLarge, match=rf"take {limit + 1:,} bytes.*allows {limit:,}"):
        arguments.encode((letter * 10 + "a",), {}, limit)


# --- back -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [None, b""])
def test_no_payload_is_no_arguments(payload):
    assert arguments.decode(payload) == ([], {})


@pytest.mark.parametrize("payload", [b'{"args":[1]}', b'{"kwargs":{}, "args":[1]}'])
def test_either_part_may_be_missing(payload):
    assert arguments.decode(payload) == ([1], {})


@pytest.mark.parametrize(
    "payload",
    [
        b"not json",
        b"[1]",
        b'{"to":"a@b.com"}',
        b'{"args":{}}',
        b'{"args":[NaN]}',
        b"\xff",
        b'{"args":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b'{"args":[{"__fq__":"elephant","value":1}]}',
        b'{"args":[{"__fq__":["uuid"],"value":1}]}',
        b'{"args":[{"__fq__":"uuid","value":"x"}]}',
        b'{"args":[{"__fq__":"uuid"}]}',
        b'{"args":[{"__fq__":"decimal","value":"x"}]}',
        b'{"args":[{"__fq__":"datetime","value":"2026-01-01T00:00:00 Mars/Base"}]}',
        b'{"args":[{"__fq__":"timedelta","value":[1e99]}]}',
        b'{"args":[{"__fq__":"set","value":[[1]]}]}',
        b'{"args":[{"__fq__":"bytes","value":"*"}]}',
        b'{"args":[{"__fq__":"enum","value":["os","system","x"]}]}',
        b'{"args":[{"__fq__":"enum","value":["enum","Enum","x"]}]}',
        b'{"args":[{"__fq__":"enum","value":["antigravity","X","x"]}]}',
    ],
    ids=lambda value: shown(value, 40),
)
def test_other_bytes_are_refused(payload):
    with pytest.raises(InvalidArgument, match="the payload is no"):
        arguments.decode(payload)


def test_a_payload_cannot_import_what_no_app_brought():
    with pytest.raises(InvalidArgument, match="not part of an installed app"):
        arguments.decode(b'{"args":[{"__fq__":"enum","value":["antigravity","X","x"]}]}')

    assert "antigravity" not in sys.modules


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ROUND_TRIPS)
def test_a_result_arrives_with_its_type(value):
    back = arguments.decode_result(arguments.encode_result(value, LIMIT))

    assert (back, type(back)) == (value, type(value))


class Explosive:
    @property
    def __class__(self):
        raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "result is nan"),
        ([1, {"a": object()}], r"result\[1\].a is a object"),
        ("x" * 100, "the result take 102 bytes"),
        (Explosive(), "RuntimeError: boom"),
    ],
    ids=["nan", "object", "large", "explosive"],
)
def test_a_result_that_cannot_be_kept_is_replaced_by_the_reason(value, words):
    result = arguments.encode_result(value, 50)

    json.loads(result, parse_constant=pytest.fail)
    with pytest.raises(arguments.Unencodable, match=words):
        arguments.decode_result(result)


def test_a_result_that_looks_like_such_a_reason_is_a_dict():
    value = {"__fq__": "unencodable", "value": "x"}

    assert arguments.decode_result(arguments.encode_result(value, LIMIT)) == value


def test_no_result_is_none():
    assert arguments.decode_result(None) is None
    assert arguments.decode_result(b"") is None


def test_bytes_that_are_no_result_are_refused():
    with pytest.raises(InvalidArgument, match="the result cannot be read"):
        arguments.decode_result(b"{")


# --- all of it --------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.none() | st.booleans() | st.integers() | TEXT | st.floats(allow_nan=False, allow_infinity=False)
HASHABLE = (
    PLAIN
    | st.uuids()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.binary()
    | st.sampled_from([Color.RED, Size.LARGE, Outer.Level.HIGH])
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(TEXT | st.just("__fq__"), inner)
        | st.frozensets(HASHABLE)
        | st.sets(HASHABLE)
    ),
    max_leaves=20,
)


def with_types(value):
    """Equal only where types are too, at every level."""
    match value:
        case list() | tuple():
            return type(value), [with_types(each) for each in value]
        case set() | frozenset():
            return type(value), {(type(each), each) for each in value}
        case dict():
            return {key: with_types(each) for key, each in value.items()}
    return type(value), value


@given(st.lists(VALUES), st.dictionaries(TEXT, VALUES))
def test_whatever_is_accepted_arrives_exactly(args, kwargs):
    payload = arguments.encode(tuple(args), kwargs, 10**9)

    json.loads(payload, parse_constant=pytest.fail)
    assert with_types(arguments.decode(payload)) == with_types((args, kwargs))


def test_ids_of_many_tasks_stay_unequal():
    one, other = uuid4(), uuid4()

    assert there_and_back(one, other) == ([one, other], {})
