"""The whole contract through a network that fails: a request is cut, before the server sees it or after it has done it,
and whoever sent it sends it again, the same in every word.

A request that never arrived is then the first one, so every test holds to the letter. One whose reply was lost is done
twice: that goes for all calls that workers and clients repeat by themselves. The store says then that it knew the task,
or had settled the outcome; the broker below takes that for the yes that was lost, as a worker does, and all that the
tests find in the store afterwards holds to the letter again.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from queue_app.brokers.base import Broker
from queue_app.brokers.redis import Connection, RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.brokers.redis.scripts import load
from queue_app.core.answers import Enqueue, Exchange, Receipt, Settled
from queue_app.core.retention import Retention
from queue_app.testing.broker_contract import BrokerContract
from queue_app.testing.clock import FakeClock
from tests.faults.proxy import Fault, Proxy, Request
from tests.faults.repeating import Repeating

HANDSHAKE = ("CLIENT", "SELECT")
"""What the library says on a new connection: no call of ours."""
REPEATED_BY_THEMSELVES = ("enqueue", "exchange", "heartbeat", "held", "abandon", "ring", "look", "stats", "list_tasks")


class TakesRepeatsForYes(RedisBroker):
    """What a caller makes of the answer to a call that it has repeated."""

    def __init__(self, connection: Connection, plan: "EveryFirst", **how: Any) -> None:
        super().__init__(connection, **how)
        self._plan = plan

    def enqueue_many(self, entries: Sequence[Enqueue]) -> list[Receipt]:
        known = {entry.task.id for entry in entries if self.find(entry.task.id)}
        before = self._plan.hits
        receipts = super().enqueue_many(entries)
        if self._plan.hits == before:
            return receipts
        return _created_once(receipts, known)

    def exchange(self, queue: str, **how: Any) -> Exchange:
        before = self._plan.hits
        answer = super().exchange(queue, **how)
        return answer if self._plan.hits == before else _settled_once(answer)

    def abandon(self, queue: str, holders: Sequence[str], outcomes: Sequence[Any] = ()) -> Exchange:
        before = self._plan.hits
        answer = super().abandon(queue, holders, outcomes)
        return answer if self._plan.hits == before else _settled_once(answer)


def _created_once(receipts: list[Receipt], known: set[str]) -> list[Receipt]:
    seen = set(known)
    told = []
    for receipt in receipts:
        is_first = receipt.task_id not in seen and not receipt.conflict
        seen.add(receipt.task_id)
        told.append(msgspec.structs.replace(receipt, created=receipt.created or is_first))
    return told


def _settled_once(answer: Exchange) -> Exchange:
    yes = (Settled.REPEATED, Settled.GONE)
    settled = {task_id: word for task_id, word in answer.settled.items() if word not in yes}
    return msgspec.structs.replace(answer, settled=settled)


class ThroughFaults(BrokerContract):
    @pytest.fixture
    def plan(self) -> "EveryFirst":
        raise NotImplementedError

    @pytest.fixture
    def connection(self, proxy: Proxy, plan: "EveryFirst") -> Iterator[Connection]:
        proxy.plan = plan
        connection = Repeating(connect(proxy.url))
        yield connection
        connection.close()

    @pytest.fixture
    def broker(self, connection: Connection, plan: "EveryFirst", clock: FakeClock, retention: Retention) -> Broker:
        return RedisBroker(connection, clock=clock, retention=retention)

    @pytest.fixture(autouse=True)
    def inspected(self, engine_url: str, conserved: None) -> Iterator[None]:
        yield
        direct = connect(engine_url)
        assert inspect(direct) == []
        direct.close()


class EveryFirst:
    """Each call goes wrong when it is first made, and through when it is made again; of these scripts, or all."""

    def __init__(self, fault: Fault, *scripts: str) -> None:
        self.hits = 0
        self._fault = fault
        self._scripts = {each.encode() for name in scripts for each in (load(name).sha, load(name).source)}
        self._seen: set[tuple[bytes, ...]] = set()

    def __call__(self, request: Request) -> Fault | None:
        if request.name in HANDSHAKE or (self._scripts and request.words[1] not in self._scripts):
            return None
        if request.words in self._seen:
            return None
        self._seen.add(request.words)
        self.hits += 1
        return self._fault


class TestRequestsThatNeverArrive(ThroughFaults):
    # Two queues are two requests, of which the first arrives: its outcomes are repeats when both are sent again.
    test_outcomes_of_other_queues_are_settled_too = None

    @pytest.fixture
    def plan(self) -> "EveryFirst":
        return EveryFirst(Fault.REFUSED)


ABOUT_THE_ANSWER = (
    "a_key_is_remembered_whatever_became_of_its_task",
    "a_repeat_answers_with_the_first_id_and_changes_nothing",
    "a_repeat_is_known_through_promotion",
    "a_repeat_is_known_through_the_cancel_of_what_waits_again",
    "a_repeat_is_known_until_the_record_is_past",
    "a_repeat_is_known_until_the_task_is_claimed_again",
    "a_sweep_leaves_keys_that_are_still_remembered",
    "a_task_that_was_asked_to_stop_ends_cancelled_whatever_but_success_its_runner_says",
    "a_task_that_was_never_there_is_gone",
    "a_task_that_was_to_be_deleted_is_cancelled_and_gone_whatever_but_success_its_runner_says",
    "a_whole_exchange_may_be_sent_again",
    "an_id_that_does_not_follow_from_the_key_is_taken_as_it_is",
    "an_outcome_sent_again_is_a_repeat_or_gone_and_changes_nothing",
    "another_outcome_under_a_token_that_has_settled_changes_nothing",
    "no_payload_and_an_empty_one_are_the_same",
    "of_an_id_that_comes_twice_in_one_call_the_second_is_judged_after_the_first",
    "one_refusal_does_not_keep_the_others_from_being_settled",
    "outcomes_of_other_queues_are_settled_too",
    "outcomes_that_are_refused_are_told",
    "to_abandon_twice_does_nothing_more",
    "what_is_refused_in_another_queue_is_told",
)
"""Tests of whether an answer says "repeated", "gone" or "known": here that is what every first answer that gets through
says, and the broker above has made a yes of it."""


class TestRepliesThatAreLost(ThroughFaults):
    vars().update({f"test_{name}": None for name in ABOUT_THE_ANSWER})

    @pytest.fixture
    def broker(self, connection: Connection, plan: EveryFirst, clock: FakeClock, retention: Retention) -> Broker:
        return TakesRepeatsForYes(connection, plan, clock=clock, retention=retention)

    @pytest.fixture
    def plan(self) -> "EveryFirst":
        return EveryFirst(Fault.REPLY_LOST, *REPEATED_BY_THEMSELVES)


def test_no_test_is_left_out_that_is_not_there() -> None:
    assert [name for name in ABOUT_THE_ANSWER if not hasattr(BrokerContract, f"test_{name}")] == []
