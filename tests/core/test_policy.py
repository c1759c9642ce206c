"""What follows from the end of an attempt."""

import json

import pytest

from queue_app.core import codec, policy
from queue_app.core.backoff import Backoff
from queue_app.core.errors import UndecodableBody
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Cancelled, Failed, Snoozed, Spent, Succeeded
from queue_app.core.task import SCHEMA, AttemptError, Task


def claimed(**fields):
    task = Task(**{"id": "t1", "task_type": "x", "max_retries": 3, "backoff": Backoff(jitter=0.0)} | fields)
    return Claimed(Lease("t1", "tasks", "tok"), codec.encode(task)), task


def error(attempt=1):
    return AttemptError(attempt=attempt, type="E", message="m", at=1.0, traceback="tb")


class TestAfterFailure:
    def test_it_is_retried_while_the_budget_lasts_and_the_attempt_counts(self):
        outcome = policy.after_failure(*claimed(attempts=1), error())

        assert isinstance(outcome, Failed)
        assert outcome.delay_seconds == 2.0
        assert codec.decode(outcome.body).attempts == 2
        assert codec.decode(outcome.body).last_error.traceback == "tb"

    def test_the_last_attempt_spends_the_budget(self):
        outcome = policy.after_failure(*claimed(attempts=3), error())

        assert isinstance(outcome, Spent)
        assert codec.decode(outcome.body).attempts == 4

    def test_a_final_one_is_spent_at_once(self):
        assert isinstance(policy.after_failure(*claimed(), error(), final=True), Spent)

    def test_a_delay_of_zero_is_a_delay(self):
        assert policy.after_failure(*claimed(), error(), delay_seconds=0.0).delay_seconds == 0.0

    def test_a_task_without_a_limit_is_never_spent(self):
        assert isinstance(policy.after_failure(*claimed(max_retries=0, attempts=10_000), error()), Failed)

    def test_fields_of_others_survive(self):
        body = b'{"id":"t1","task_type":"x","theirs":[1]}'
        outcome = policy.after_failure(Claimed(Lease("t1", "tasks", "tok"), body), codec.decode(body), error())

        assert json.loads(outcome.body)["theirs"] == [1]

    def test_only_the_newest_errors_are_kept_and_only_one_traceback(self):
        _, task = claimed(errors=tuple(error(number) for number in range(1, 8)))

        kept = policy.with_error(task, error(8))

        assert [each.attempt for each in kept] == [4, 5, 6, 7, 8]
        assert [each.traceback for each in kept] == ["", "", "", "", "tb"]


class TestOtherEnds:
    def test_a_success_carries_a_body_only_where_it_is_kept(self):
        plain = policy.after_success(*claimed(), result=b"1", keep_seconds=0.0, seconds=0.5)
        kept = policy.after_success(*claimed(), result=b"1", keep_seconds=60.0, seconds=0.5)

        assert isinstance(plain, Succeeded)
        assert (plain.body, plain.result) == (b"", b"")
        assert (codec.decode(kept.body).attempts, kept.result) == (1, b"1")

    @pytest.mark.parametrize(("started", "attempts"), [(True, 1), (False, 0)])
    def test_a_cancel_counts_only_what_had_started(self, started, attempts):
        outcome = policy.after_cancel(*claimed(), "expired", started=started)

        assert isinstance(outcome, Cancelled)
        assert codec.decode(outcome.body).attempts == attempts
        assert codec.decode(outcome.body).cancel_reason == "expired"

    def test_an_undecodable_one_dies_with_its_bytes(self):
        outcome = policy.after_undecodable(Claimed(Lease("t1", "tasks", "tok"), b"\xff"), UndecodableBody("no JSON"))

        assert isinstance(outcome, Spent)
        assert outcome.body == b"\xff"

    def test_a_lost_worker_costs_an_attempt(self):
        outcome = policy.after_lost_worker(claimed()[0], at=5.0)

        assert isinstance(outcome, Failed)
        assert codec.decode(outcome.body).last_error.type == "LeaseExpired"
        assert isinstance(policy.after_lost_worker(claimed(attempts=3)[0], at=5.0), Spent)

    def test_a_lost_worker_with_a_task_of_a_newer_version_leaves_it_to_a_newer_worker(self):
        newer = Claimed(Lease("t1", "tasks", "tok"), b'{"id":"t1","task_type":"x","schema":%d}' % (SCHEMA + 1))

        outcome = policy.after_lost_worker(newer, at=5.0)

        assert outcome == Snoozed(lease=newer.lease, delay_seconds=policy.NEWER_SCHEMA_DELAY_SECONDS)

    def test_a_lost_worker_with_an_undecodable_task_kills_it(self):
        broken = Claimed(Lease("t1", "tasks", "tok"), b"{")

        assert isinstance(policy.after_lost_worker(broken, at=5.0), Spent)


class TestCut:
    def test_short_text_stays(self):
        assert policy.cut("abc", 3) == "abc"

    @pytest.mark.parametrize("limit", [60, 61, 1_000, 9_999])
    def test_long_text_keeps_its_two_ends_and_says_so(self, limit):
        cut = policy.cut("A" * 5_000 + "B" * 5_000, limit)

        assert limit - 5 <= len(cut) <= limit
        assert f"{10_000 - cut.count('A') - cut.count('B')} characters left out" in cut

    @pytest.mark.parametrize("limit", [0, 1, 10, 30])
    def test_where_there_is_no_room_to_say_so_the_beginning_is_kept(self, limit):
        assert policy.cut("a" * 5_000, limit) == "a" * limit
