"""What anybody may have written into a body or said in an error: it must not stop a worker or a reclaimer."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_app.core import codec, names, policy
from queue_app.core.answers import Snapshot
from queue_app.core.backoff import MAX_DELAY_SECONDS, Backoff, backoff_rule, bounded_delay
from queue_app.core.errors import InvalidArgument, InvalidName, NewerSchema, UndecodableBody
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Spent
from queue_app.core.states import State
from queue_app.core.task import SCHEMA, AttemptError, Task

DEEP = b'{"id":"t1","task_type":"x","theirs":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
HALF_A_PAIR = b'{"id":"t1","task_type":"x","theirs":"\\ud800"}'
LEASE = Lease("t1", "tasks", "token")


def raw(theirs: str) -> bytes:
    """A body with a field of somebody else, written as it is."""
    return b'{"id":"t1","task_type":"x","theirs":%s}' % theirs.encode()


class TestForeignFields:
    @pytest.mark.parametrize(
        "theirs",
        ["1e400", "-1e-400", "1.10", "1E5", "9007199254740993", str(2**200), "[]", "{}", "null", '"\\u00e9"', '"é"'],
    )
    def test_survive_a_change_byte_for_byte(self, theirs):
        amended = codec.amend(raw(theirs), attempts=1)

        assert f'"theirs":{theirs}'.encode() in amended
        assert codec.decode(amended).attempts == 1

    def test_of_a_go_producer_with_white_space_too(self):
        body = b'{ "id" : "t1",\n "task_type": "x", "payload": null, "max_retries": 3, "theirs": {"a": [1, 2]} }'

        amended = codec.amend(body, attempts=1)

        assert codec.decode(amended, "t1") == Task(id="t1", task_type="x", payload=None, max_retries=3, attempts=1)
        assert json.loads(amended)["theirs"] == {"a": [1, 2]}

    def test_named_twice_are_read_and_kept_as_the_last(self):
        body = b'{"id":"t1","task_type":"x","attempts":1,"attempts":2}'

        assert codec.decode(body).attempts == 2
        assert codec.decode(codec.amend(body, priority=1)).attempts == 2

    @given(
        st.dictionaries(
            st.text(min_size=1).filter(lambda name: not hasattr(Task, name)),
            st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.integers() | st.none(),
        ),
        st.booleans(),
    )
    def test_of_any_kind_survive(self, theirs, is_ascii):
        body = json.dumps({"id": "t1", "task_type": "x"} | theirs, ensure_ascii=is_ascii).encode()

        assert json.loads(codec.amend(body, attempts=1)) == json.loads(body) | {"attempts": 1}


class TestBodiesThatCannotBeRead:
    @pytest.mark.parametrize("body", [DEEP, HALF_A_PAIR, DEEP[:-5]], ids=["deep", "half a pair", "cut off"])
    def test_are_undecodable_and_nothing_else(self, body):
        with pytest.raises(UndecodableBody):
            codec.decode(body)

        assert Snapshot(id="t1", queue="tasks", state=State.READY, body=body).problem

    @pytest.mark.parametrize("body", [DEEP, DEEP[:-5], b"", b"null", b'"t1"', b"{]"])
    def test_come_back_from_a_change_as_they_are(self, body):
        assert codec.amend(body, attempts=1) == body

    @pytest.mark.parametrize("body", [DEEP, HALF_A_PAIR, b"", b"\xff"], ids=["deep", "half a pair", "empty", "bytes"])
    def test_kill_their_task_and_not_its_reclaimer(self, body):
        assert policy.after_lost_worker(Claimed(LEASE, body), at=1.0) == Spent(lease=LEASE, body=body)

    @pytest.mark.parametrize("change", ['"tags":5', '"attempts":"two"', '"payload":{}', '"errors":7'])
    def test_ask_for_an_upgrade_when_a_newer_version_wrote_them(self, change):
        body = f'{{"id":"t1","task_type":"x",{change},"schema":{SCHEMA + 1}}}'.encode()

        with pytest.raises(NewerSchema, match="newer"):
            codec.decode(body)

    @pytest.mark.parametrize("schema", ["0", "-1", '"two"', "1.5", "null"])
    def test_ask_for_none_otherwise(self, schema):
        body = f'{{"id":"t1","task_type":"x","tags":5,"schema":{schema}}}'.encode()

        with pytest.raises(UndecodableBody) as caught:
            codec.decode(body)

        assert type(caught.value) is UndecodableBody


class TestTextThatIsNoUnicode:
    """Python can hold half a surrogate pair: the name of a file that is not UTF-8 has some."""

    def test_of_an_error_is_written_with_a_mark_in_its_place(self):
        error = AttemptError(attempt=1, type="FileNotFoundError", message="no file 'a\udcffb'", at=1.0)
        body = codec.encode(Task(id="t1", task_type="x"))

        amended = codec.amend(body, errors=(error,), attempts=1)

        assert codec.decode(amended).errors[0].message == "no file 'a?b'"
        assert codec.decode(amended).attempts == 1

    def test_of_a_reason_too(self):
        body = codec.encode(Task(id="t1", task_type="x"))

        assert codec.decode(codec.amend(body, cancel_reason="\ud800")).cancel_reason == "?"

    def test_is_no_idempotency_key(self):
        with pytest.raises(InvalidName, match="idempotency key"):
            names.valid_idempotency_key("order \ud800")


class TestStoredBackoffRules:
    """They were checked when they were enqueued by us; a body may come from elsewhere."""

    @pytest.mark.parametrize(
        "rule",
        [
            '{"kind":"list","delays":[]}',
            '{"kind":"list","delays":[-5,1e300]}',
            '{"kind":"linear","base":-1}',
            '{"kind":"exponential","base":1e300,"cap":1e300}',
            '{"kind":"fixed","base":1e18,"cap":1e18,"jitter":50}',
            '{"kind":"exponential","jitter":-1e300}',
            "{}",
        ],
    )
    @pytest.mark.parametrize("attempts", [0, -(10**30), 2**70, 10**400], ids=["first", "negative", "2**70", "10**400"])
    def test_wait_between_nothing_and_a_year(self, rule, attempts):
        task = codec.decode(f'{{"id":"t1","task_type":"x","attempts":{attempts},"backoff":{rule}}}'.encode())

        delay = task.backoff_rule.delay_seconds(task.attempt)

        assert 0.0 <= delay <= MAX_DELAY_SECONDS

    def test_that_list_nothing_wait_as_the_default_does(self):
        rule = Backoff(kind="list")

        assert [rule.delay_seconds(attempt, lambda: 0.0) for attempt in (1, 2, 3, 99)] == [1.0, 2.0, 4.0, 60.0]

    def test_of_an_unknown_kind_make_a_body_undecodable(self):
        with pytest.raises(UndecodableBody, match="backoff"):
            codec.decode(b'{"id":"t1","task_type":"x","backoff":{"kind":"sometimes"}}')

    @pytest.mark.parametrize("value", [1e18, 2**70, math.nan, -math.inf, "5", True, Backoff(kind="sometimes")])
    def test_are_refused_where_we_write_them(self, value):
        with pytest.raises(InvalidArgument, match="backoff"):
            backoff_rule(value)

    @given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
    def test_any_finite_number_is_a_bounded_delay(self, value):
        assert 0.0 <= bounded_delay(value) <= MAX_DELAY_SECONDS
