"""The body of a task: what is written, what is read, and what survives a change."""

import json

import pytest

from queue_app.core import codec
from queue_app.core.backoff import Backoff
from queue_app.core.errors import NewerSchema, UndecodableBody
from queue_app.core.task import SCHEMA, AttemptError, Task, to_max_attempts, to_max_retries


def body(**fields):
    return json.dumps({"id": "t1", "task_type": "x"} | fields).encode()


class TestWriting:
    def test_a_plain_task_has_the_five_documented_fields_and_no_others(self):
        written = json.loads(codec.encode(Task(id="t1", task_type="x", payload=b"{}")))

        assert written == {"id": "t1", "task_type": "x", "payload": "e30=", "max_retries": 0, "attempts": 0}

    def test_what_is_written_is_read_back(self):
        task = Task(
            id="t1",
            task_type="x",
            payload=bytes(range(256)),
            max_retries=-1,
            attempts=2,
            queue="mail",
            priority=-100,
            enqueued_at=1.25,
            due_at=2.5,
            expires_at=3.5,
            timeout=1.0,
            hard_timeout=2.0,
            backoff=Backoff(kind="list", delays=(1.0, 2.0)),
            keep_result=60.0,
            tags=("a", "b"),
            headers={"k": "v"},
            idempotency_key="key",
            revived=1,
            cancel_reason="expired",
            errors=(AttemptError(attempt=1, type="E", message="m", at=1.0, traceback="tb", worker="w"),),
        )

        assert codec.decode(codec.encode(task), "t1") == task


class TestReading:
    def test_the_first_four_fields_are_enough(self):
        task = codec.decode(body(payload="e30=", max_retries=3))

        assert (task.payload, task.max_attempts, task.attempts, task.attempt, task.queue) == (b"{}", 4, 0, 1, "tasks")

    def test_a_payload_of_null_is_how_go_writes_no_bytes(self):
        assert codec.decode(body(payload=None)).payload is None

    @pytest.mark.parametrize(
        "raw",
        [b"", b"{", b"[]", b"null", b"\xff\xfe", body(attempts="two"), body(payload="not base64!"), b'{"id":"t1"}'],
    )
    def test_what_is_no_task_is_undecodable(self, raw):
        with pytest.raises(UndecodableBody):
            codec.decode(raw)

    def test_a_body_under_the_wrong_key_is_refused(self):
        with pytest.raises(UndecodableBody, match="carries the id 't1', not 't2'"):
            codec.decode(body(), "t2")

    def test_a_newer_schema_is_told_apart_from_garbage(self):
        with pytest.raises(NewerSchema, match=f"schema {SCHEMA + 1} is newer than {SCHEMA}"):
            codec.decode(body(schema=SCHEMA + 1))


class TestAmending:
    def test_fields_of_others_survive_to_the_last_digit(self):
        raw = (
            b'{"id":"t1","task_type":"x","big":1152921504606846977123,"none":[],"deep":{"a":[1.10,null]},"attempts":0}'
        )

        amended = codec.amend(raw, attempts=1)

        assert b'"big":1152921504606846977123,"none":[],"deep":{"a":[1.10,null]}' in amended
        assert json.loads(amended)["attempts"] == 1

    def test_none_drops_a_field(self):
        assert "cancel_reason" not in json.loads(codec.amend(body(cancel_reason="x"), cancel_reason=None))

    @pytest.mark.parametrize("raw", [b"\xff", b"[1]", b"{"])
    def test_what_is_no_object_comes_back_as_it_is(self, raw):
        assert codec.amend(raw, attempts=1) == raw

    def test_text_beyond_ascii_stays_readable(self):
        assert "é".encode() in codec.amend(body(), cancel_reason="é")


class TestBudget:
    @pytest.mark.parametrize(("wire", "python"), [(0, None), (-1, 1), (1, 2), (3, 4)])
    def test_the_wire_counts_retries_and_python_counts_runs(self, wire, python):
        assert to_max_attempts(wire) == python
        assert to_max_retries(python) == wire

    def test_anything_below_zero_is_one_run(self):
        assert to_max_attempts(-7) == 1

    @pytest.mark.parametrize(("attempts", "is_last"), [(0, False), (2, False), (3, True), (9, True)])
    def test_the_last_attempt_is_known_while_it_runs(self, attempts, is_last):
        assert Task(id="t1", task_type="x", max_retries=3, attempts=attempts).is_last_attempt is is_last

    def test_without_a_limit_no_attempt_is_the_last(self):
        assert not Task(id="t1", task_type="x", max_retries=0, attempts=10**6).is_last_attempt
