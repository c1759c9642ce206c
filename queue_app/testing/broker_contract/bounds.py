"""What no call may carry. A refusal comes before the first change, also of what was good in the same call."""

# A lease's token is no password.
# ruff: noqa: S106

import math

import pytest

from queue_app.brokers.base import MAX_BATCH, Broker
from queue_app.core.answers import Enqueue
from queue_app.core.lease import Lease
from queue_app.core.outcomes import Failed, Outcome, Snoozed, Succeeded
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    claim,
    counts,
    new_task,
    picture,
    running_one,
    seed,
)
from queue_app.testing.clock import FakeClock

NO_SECONDS = [math.nan, math.inf, 1e13]


class BoundsContract(Contract):
    """Numbers and words that are none."""

    @pytest.fixture(params=NO_SECONDS, ids=str)
    def no_seconds(self, request: pytest.FixtureRequest) -> float:
        seconds: float = request.param
        return seconds

    @pytest.mark.parametrize("kind", ["retry", "snooze", "keep"])
    def test_an_outcome_whose_time_is_none_is_refused_with_all_that_came_with_it(
        self, broker: Broker, kind: str, no_seconds: float
    ) -> None:
        seed(broker, 2)
        good, bad = claim(broker, 2)
        theirs = running_one(broker, queue=OTHER_QUEUE)
        outcomes: dict[str, Outcome] = {
            "retry": Failed(lease=bad.lease, body=bad.body, delay_seconds=no_seconds),
            "snooze": Snoozed(lease=bad.lease, delay_seconds=no_seconds),
            "keep": Succeeded(lease=bad.lease, keep_seconds=no_seconds, result=b"1"),
        }
        before = picture(broker)

        with pytest.raises(ValueError, match="seconds"):
            broker.exchange(
                QUEUE,
                holder="w:1",
                token="k2",
                outcomes=[Succeeded(lease=theirs.lease), Succeeded(lease=good.lease), outcomes[kind]],
                want=1,
            )

        assert picture(broker) == before
        assert counts(broker, OTHER_QUEUE) == {"running": 1}

    def test_an_abandon_with_an_outcome_whose_time_is_none_is_refused(self, broker: Broker, no_seconds: float) -> None:
        claimed = running_one(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="seconds"):
            broker.abandon(QUEUE, ["w:1"], [Snoozed(lease=claimed.lease, delay_seconds=no_seconds)])

        assert picture(broker) == before

    def test_a_decision_whose_time_is_none_reclaims_nothing(
        self, broker: Broker, clock: FakeClock, no_seconds: float
    ) -> None:
        seed(broker, 2)
        claim(broker, 2, lease_seconds=1.0)
        clock.advance(1)
        before = picture(broker)

        with pytest.raises(ValueError, match="seconds"):
            broker.reclaim(QUEUE, lambda each: Failed(lease=each.lease, body=each.body, delay_seconds=no_seconds))

        assert picture(broker) == before

    def test_a_lease_without_an_end_is_not_granted(self, broker: Broker, no_seconds: float) -> None:
        seed(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="lease_seconds"):
            broker.claim(QUEUE, holder="w:1", lease_seconds=no_seconds)

        assert picture(broker) == before

    def test_a_lease_is_not_moved_to_no_time(self, broker: Broker, no_seconds: float) -> None:
        running_one(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="lease_seconds"):
            broker.heartbeat(QUEUE, ["w:1"], lease_seconds=no_seconds)

        assert picture(broker) == before

    def test_a_task_that_is_due_at_no_time_is_refused_with_all_that_came_with_it(
        self, broker: Broker, no_seconds: float
    ) -> None:
        no_time = Enqueue(task=new_task(), due_at=no_seconds)
        no_delay = Enqueue(task=new_task(), delay_seconds=no_seconds)

        for entry in (no_time, no_delay):
            with pytest.raises(ValueError, match=r"due_at|delay_seconds"):
                broker.enqueue_many([Enqueue(task=new_task()), entry])

        assert counts(broker) == {}

    @pytest.mark.parametrize(
        ("holder", "token"),
        [("", "k1"), ("w:1", ""), ("w:1", "two words"), ("w:1", " k1"), ("w:1", "k1\n")],
    )
    def test_a_claim_needs_a_holder_and_a_token_of_one_word(self, broker: Broker, holder: str, token: str) -> None:
        claimed = running_one(broker)
        seed(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="token"):
            broker.exchange(QUEUE, holder=holder, token=token, outcomes=[Succeeded(lease=claimed.lease)], want=1)

        assert picture(broker) == before

    def test_a_holder_may_be_called_anything(self, broker: Broker) -> None:
        seed(broker, 2)
        names = ["host.example:1:slot 0", "工人"]

        held = [broker.claim(QUEUE, holder=name)[0].lease.task_id for name in names]

        assert [broker.heartbeat(QUEUE, [name]).held[name].task_ids for name in names] == [(each,) for each in held]

    def test_more_outcomes_than_a_batch_are_refused(self, broker: Broker) -> None:
        seed(broker, MAX_BATCH)
        outcomes = [Succeeded(lease=each.lease) for each in claim(broker, MAX_BATCH)]
        one_more = Succeeded(lease=Lease("unknown", QUEUE, "k1"))

        with pytest.raises(ValueError, match="limit"):
            broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=[*outcomes, one_more])
        with pytest.raises(ValueError, match="limit"):
            broker.abandon(QUEUE, ["w:1"], [*outcomes, one_more])

        assert counts(broker) == {"running": MAX_BATCH}
        assert broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes).settled == {}
        assert counts(broker) == {}

    def test_a_batch_of_any_outcome_is_settled_at_once(self, broker: Broker) -> None:
        seed(broker, MAX_BATCH)
        outcomes = [Snoozed(lease=each.lease, delay_seconds=1.0) for each in claim(broker, MAX_BATCH)]

        answer = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes)

        assert answer.settled == {}
        assert counts(broker) == {"scheduled": MAX_BATCH}
