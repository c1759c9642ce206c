"""B39, B40: what a handler gets is what was given, type for type, or it was refused before anything was stored; and all
that we write is JSON to a strict reader."""

import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest

from queue_app.core.errors import InvalidArgument
from queue_app.core.states import State
from queue_app.runtime import override
from tests.process import tasks
from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow

VALUES = [
    datetime(2026, 12, 1, 12, 30, tzinfo=UTC),
    date(2026, 12, 1),
    time(12, 30, 1),
    timedelta(days=-1, microseconds=3),
    Decimal("1.10"),
    UUID(int=7),
    b"\x00\xff",
    2**63,
    2**70,
    -0.0,
    {"deep": [{"er": None}]},
    ("a", ("b",)),
    {"a"},
    "ünïcödé \u2028",
]
NAMES = ("task", "args", "kwargs", "queue", "self", "delay", "id", "priority", "result", "queue_name", "payload")


class Colour(Enum):
    RED = 1


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_b39_a_value_arrives_as_it_was(rig: Rig, value: object) -> None:
    with override(rig.broker):
        result = tasks.echo.using(keep_result=60).enqueue(value)
    worker = rig.workers.start("--burst", wait=False)

    assert worker.wait() == 0

    with override(rig.broker):
        returned = tasks.echo.get_result(result.id).return_value
    assert returned == [repr(value), {}]


def test_b39_no_name_of_an_argument_is_ours(rig: Rig) -> None:
    given = {name: name for name in NAMES}
    with override(rig.broker):
        result = tasks.echo.using(keep_result=60).enqueue(None, **given)
    worker = rig.workers.start("--burst", wait=False)

    assert worker.wait() == 0

    with override(rig.broker):
        assert tasks.echo.get_result(result.id).return_value == ["None", given]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([{"when": Plain()}], r"args\[0\]\[0\]\.when"),
        ({1: "a"}, r"args\[0\]"),
        ({None: "a"}, r"args\[0\]"),
        (CIRCLE, r"args\[0\]"),
        (math.nan, r"args\[0\]"),
        ([1.0, [math.inf]], r"args\[0\]\[1\]\[0\]"),
        (-math.inf, r"args\[0\]"),
    ],
    ids=repr,
)
def test_b39_b40_what_cannot_be_carried_is_refused_where_it_stands_and_nothing_is_stored(
    rig: Rig, value: object, place: str
) -> None:
    with override(rig.broker), pytest.raises(InvalidArgument, match=place):
        tasks.echo.enqueue(value)

    assert rig.broker.queues() == []


def test_b40_a_result_that_is_no_number_loses_nothing_and_every_byte_is_strict_json(rig: Rig) -> None:
    with override(rig.broker):
        result = tasks.nowhere_near_a_number.using(keep_result=60).enqueue()
    rig.enqueue("failing", max_retries=-1)
    worker = rig.workers.start()
    until(lambda: rig.broker.get(result.id).state is State.SUCCEEDED, "it succeeded", 10)
    rig.check_liveness()

    with rig.engine.client() as client:
        for key in client.scan_iter(match="*:*"):
            if client.type(key) == b"string" and not key.startswith(b"queue:"):
                json.loads(client.get(key), parse_constant=pytest.fail)
    assert worker.is_alive
    with override(rig.broker), pytest.raises(Exception, match="nan"):
        _ = tasks.nowhere_near_a_number.get_result(result.id).return_value
