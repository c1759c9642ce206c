"""claim: ready → running, grants a lease."""

# A lease's token is no password.
# ruff: noqa: S106

import pytest

from queue_app.brokers.base import LEASE_SECONDS, MAX_BATCH, MAX_CLAIM_BYTES, Broker
from queue_app.core.answers import Standing
from queue_app.core.errors import HolderClosed
from queue_app.core.lease import Lease
from queue_app.core.outcomes import Succeeded
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    claim,
    claim_one,
    counts,
    fails,
    ids_of,
    listed,
    new_task,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock


class ClaimContract(Contract):
    """How work goes out."""

    def test_a_claim_makes_ready_tasks_run(self, broker: Broker) -> None:
        task_ids = seed(broker, 3)

        claimed = broker.claim(QUEUE, holder="w:1", limit=2)

        assert ids_of(claimed) == task_ids[:2]
        assert counts(broker) == {"running": 2, "ready": 1}
        assert totals(broker) == {"enqueued": 3}

    def test_a_claim_gives_the_lease_and_the_body_as_it_is_stored(self, broker: Broker) -> None:
        task = new_task(payload=b"{}")
        broker.enqueue(task)

        (claimed,) = broker.claim(QUEUE, holder="w:1", token="k1")

        assert claimed.lease == Lease(task.id, QUEUE, "k1")
        assert claimed.task == task
        assert claimed.body == broker.get(task.id).body

    def test_a_lease_ends_when_the_claim_said(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, 2)

        first = claim_one(broker)
        second = claim_one(broker, lease_seconds=0.25)

        assert broker.get(first.lease.task_id).at == clock.now() + LEASE_SECONDS
        assert broker.get(second.lease.task_id).at == clock.now() + 0.25

    def test_a_claim_takes_the_oldest_first(self, broker: Broker) -> None:
        task_ids = seed(broker, 40)

        claimed = [*ids_of(claim(broker, 1)), *ids_of(claim(broker, 20)), *ids_of(claim(broker, 19))]

        assert claimed == task_ids

    def test_a_claim_may_get_less_than_it_wants(self, broker: Broker) -> None:
        seed(broker, 2)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=5)

        assert answer.standing is Standing.CLAIMED
        assert len(answer.claimed) == 2

    def test_an_empty_queue_gives_nothing(self, broker: Broker, clock: FakeClock) -> None:
        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=5)

        assert (answer.standing, answer.claimed, answer.settled) == (Standing.EMPTY, [], {})
        assert (answer.now, answer.next_due_at, answer.next_expiry_at) == (clock.now(), None, None)
        assert broker.queues() == []

    def test_only_ready_tasks_are_claimed(self, broker: Broker) -> None:
        seed(broker, due_in=5)
        retrying_one(broker)
        running_one(broker)

        assert broker.claim(QUEUE, holder="w:2", limit=9) == []
        assert counts(broker) == {"scheduled": 1, "retrying": 1, "running": 1}

    def test_what_is_due_waits_for_its_promotion(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker, due_in=5)
        clock.advance(5)

        assert broker.claim(QUEUE, holder="w:1") == []

    def test_a_claim_takes_from_its_queue_only(self, broker: Broker) -> None:
        seed(broker)
        (other_id,) = seed(broker, queue=OTHER_QUEUE)

        claimed = claim_one(broker, queue=OTHER_QUEUE)

        assert claimed.lease == Lease(other_id, OTHER_QUEUE, claimed.lease.token)
        assert counts(broker) == {"ready": 1}
        assert counts(broker, OTHER_QUEUE) == {"running": 1}

    def test_no_two_claims_get_the_same_task(self, broker: Broker) -> None:
        task_ids = seed(broker, 10)

        claimed = [claimed for number in range(4) for claimed in broker.claim(QUEUE, holder=f"w:{number}", limit=3)]

        assert ids_of(claimed) == task_ids
        assert len({each.lease.token for each in claimed}) == 4

    def test_every_claim_without_a_token_of_its_own_gets_a_new_one(self, broker: Broker) -> None:
        seed(broker, 2)

        tokens = [claim_one(broker).lease.token for _ in range(2)]

        assert len(set(tokens)) == 2
        assert all(len(token) == 32 for token in tokens)

    def test_a_claim_says_when_there_will_be_more_to_do(self, broker: Broker, clock: FakeClock) -> None:
        retrying_one(broker, delay_seconds=7.0)
        seed(broker, due_in=3)
        seed(broker, 2)
        claim_one(broker, lease_seconds=2.0)

        answer = broker.exchange(QUEUE, holder="w:2", token="k1", want=1, lease_seconds=30.0)

        assert answer.now == clock.now()
        assert answer.next_due_at == clock.now() + 3
        assert answer.next_expiry_at == clock.now() + 2

    def test_a_claim_tells_the_times_after_what_it_did_itself(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=1, lease_seconds=4.0)

        assert answer.next_expiry_at == clock.now() + 4

    @pytest.mark.parametrize("verb", ["pause", "empty"])
    def test_a_claim_that_gets_nothing_says_when_there_will_be_more_to_do(
        self, broker: Broker, clock: FakeClock, verb: str
    ) -> None:
        seed(broker, due_in=3)
        running_one(broker)
        if verb == "pause":
            broker.pause(QUEUE)

        answer = broker.exchange(QUEUE, holder="w:2", token="k9", want=1)

        assert (answer.next_due_at, answer.next_expiry_at) == (clock.now() + 3, clock.now() + LEASE_SECONDS)

    def test_an_exchange_that_wants_nothing_claims_nothing(self, broker: Broker) -> None:
        seed(broker)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1")

        assert (answer.standing, answer.claimed) == (Standing.UNASKED, [])
        assert counts(broker) == {"ready": 1}

    @pytest.mark.parametrize("size", [MAX_CLAIM_BYTES // 2, MAX_CLAIM_BYTES // 20])
    def test_a_claim_stops_before_its_bodies_exceed_the_limit(self, broker: Broker, size: int) -> None:
        # Base64 makes four bytes of three, and a body has some more than its payload.
        payload = bytes(size * 3 // 4 - 200)
        fitting = MAX_CLAIM_BYTES // size
        task_ids = seed(broker, 2 * fitting + 1, payload=payload)

        first, second = (ids_of(broker.claim(QUEUE, holder=holder, limit=MAX_BATCH)) for holder in ("w:1", "w:2"))

        assert (first, second) == (task_ids[:fitting], task_ids[fitting : 2 * fitting])

    def test_a_claim_that_stopped_at_the_limit_leaves_the_rest_in_order(self, broker: Broker) -> None:
        large = bytes(MAX_CLAIM_BYTES * 3 // 8)
        task_ids = [
            *seed(broker, 2, payload=large, priority=1),
            *seed(broker, 2, payload=large),
            *seed(broker, 2, payload=large, priority=-1),
        ]

        taken = []
        for number in range(6):
            taken += ids_of(broker.claim(QUEUE, holder=f"w:{number}", limit=9))

        assert taken == task_ids

    def test_one_task_is_claimed_however_large_it_is(self, broker: Broker) -> None:
        seed(broker, 2, payload=bytes(MAX_CLAIM_BYTES))

        claimed = broker.claim(QUEUE, holder="w:1", limit=2)

        assert len(claimed) == 1
        assert len(claimed[0].body) > MAX_CLAIM_BYTES

    def test_a_cancelled_task_is_not_claimed(self, broker: Broker) -> None:
        first, second, third = seed(broker, 3)
        broker.cancel(second)

        assert ids_of(claim(broker, 2)) == [first, third]
        assert broker.claim(QUEUE, holder="w:2") == []

    def test_a_deleted_task_is_not_claimed(self, broker: Broker) -> None:
        first, second, third = seed(broker, 3)
        broker.delete(first)

        assert ids_of(claim(broker, 2)) == [second, third]
        assert broker.claim(QUEUE, holder="w:2") == []

    def test_behind_many_cancelled_tasks_the_good_one_is_found(self, broker: Broker) -> None:
        task_ids = seed(broker, 1_500)
        for task_id in task_ids[:-1]:
            broker.delete(task_id)

        answers = [broker.exchange(QUEUE, holder="w:1", token=f"k{number}", want=1) for number in range(4)]

        # "more" says: call again at once. A store that leaves no dead entries need not say it.
        standings = [answer.standing for answer in answers if answer.standing is not Standing.MORE]
        assert standings[0] is Standing.CLAIMED
        assert [claimed for answer in answers for claimed in ids_of(answer.claimed)] == task_ids[-1:]
        assert counts(broker) == {"running": 1}

    def test_running_tasks_are_listed_by_the_end_of_their_lease(self, broker: Broker) -> None:
        task_ids = seed(broker, 3)
        for lease_seconds in (20.0, 5.0, 10.0):
            claim_one(broker, lease_seconds=lease_seconds)

        assert listed(broker, State.RUNNING) == [task_ids[1], task_ids[2], task_ids[0]]

    @pytest.mark.parametrize("want", [-1, MAX_BATCH + 1, 1.5, True, "5", None])
    def test_a_wish_that_is_no_number_of_tasks_up_to_a_batch_is_refused(self, broker: Broker, want: int) -> None:
        claimed = running_one(broker)
        before = picture(broker)

        with pytest.raises(ValueError, match="limit"):
            broker.exchange(QUEUE, holder="w:1", token="k1", outcomes=[Succeeded(lease=claimed.lease)], want=want)

        assert picture(broker) == before

    def test_a_whole_batch_may_be_claimed_at_once(self, broker: Broker) -> None:
        task_ids = seed(broker, MAX_BATCH + 1)

        claimed = broker.claim(QUEUE, holder="w:1", limit=MAX_BATCH)

        assert ids_of(claimed) == task_ids[:MAX_BATCH]
        assert counts(broker) == {"running": MAX_BATCH, "ready": 1}


class ClaimReplayContract(Contract):
    """A claim whose reply was lost may be sent again."""

    def test_the_same_token_gets_the_same_tasks_and_not_more(self, broker: Broker) -> None:
        seed(broker, 5)
        first = broker.exchange(QUEUE, holder="w:1", token="k1", want=2)

        second = broker.exchange(QUEUE, holder="w:1", token="k1", want=2)

        assert second == first
        assert second.standing is Standing.CLAIMED
        assert counts(broker) == {"running": 2, "ready": 3}

    def test_the_same_token_gets_them_in_the_same_order(self, broker: Broker) -> None:
        for priority in (0, 5, -5, 0, 5):
            seed(broker, priority=priority)
        first = claim(broker, 5, token="k1")

        assert claim(broker, 5, token="k1") == first

    def test_a_larger_wish_under_the_same_token_gets_no_more(self, broker: Broker) -> None:
        seed(broker, 5)
        first = claim(broker, 2, token="k1")

        assert broker.claim(QUEUE, holder="w:1", token="k1", limit=5) == first
        assert counts(broker) == {"running": 2, "ready": 3}

    def test_a_repeated_claim_does_not_move_the_deadline(self, broker: Broker, clock: FakeClock) -> None:
        seed(broker)
        first = claim_one(broker, token="k1", lease_seconds=5.0)
        before = broker.get(first.lease.task_id).at
        clock.advance(1)

        claim_one(broker, token="k1", lease_seconds=60.0)

        assert broker.get(first.lease.task_id).at == before

    def test_a_repeated_claim_gives_only_what_is_still_owned(self, broker: Broker) -> None:
        seed(broker, 3)
        first = claim(broker, 3, token="k1")
        broker.ack(first[1].lease)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=3)

        assert answer.claimed == [first[0], first[2]]
        assert answer.standing is Standing.CLAIMED

    def test_a_repeated_claim_of_which_nothing_is_left_gets_nothing(self, broker: Broker) -> None:
        seed(broker, 2)
        first = claim_one(broker, token="k1")
        broker.ack(first.lease)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=1)

        assert (answer.standing, answer.claimed) == (Standing.EMPTY, [])
        assert counts(broker) == {"ready": 1}

    def test_a_task_that_was_reclaimed_and_claimed_by_another_is_not_given_again(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        seed(broker, 2)
        first = claim(broker, 2, token="k1", lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, lambda claimed: Succeeded(lease=claimed.lease), limit=1)

        again = broker.claim(QUEUE, holder="w:1", token="k1", limit=2)

        assert len(again) == 1
        assert again[0] in first

    def test_a_task_that_was_reclaimed_and_waits_for_its_next_attempt_is_not_given_again(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        seed(broker, 2)
        claim(broker, 2, token="k1", lease_seconds=1.0)
        clock.advance(1)
        broker.reclaim(QUEUE, fails)

        assert broker.claim(QUEUE, holder="w:1", token="k1", limit=2) == []
        assert counts(broker) == {"retrying": 2}

    def test_a_whole_exchange_may_be_sent_again(self, broker: Broker) -> None:
        seed(broker, 4)
        held = claim(broker, 2, token="k1")
        outcomes = [Succeeded(lease=each.lease) for each in held]
        first = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes, want=2)

        second = broker.exchange(QUEUE, holder="w:1", token="k2", outcomes=outcomes, want=2)

        assert second.claimed == first.claimed
        assert set(second.settled.values()) == {"gone"}
        assert counts(broker) == {"running": 2}
        assert totals(broker) == {"enqueued": 4, "succeeded": 2}

    def test_a_claim_that_got_nothing_may_be_asked_again_and_then_get_something(self, broker: Broker) -> None:
        broker.claim(QUEUE, holder="w:1", token="k1")
        task_ids = seed(broker)

        assert ids_of(broker.claim(QUEUE, holder="w:1", token="k1")) == task_ids

    def test_the_same_token_of_another_holder_is_a_claim_of_its_own(self, broker: Broker) -> None:
        first, second = seed(broker, 2)

        claimed = [claim_one(broker, holder=holder, token="k1").lease.task_id for holder in ("w:1", "w:2")]

        assert claimed == [first, second]

    def test_a_new_token_is_a_new_claim(self, broker: Broker) -> None:
        _, second = seed(broker, 2)
        claim_one(broker, token="k1")

        assert claim_one(broker, token="k2").lease.task_id == second

    def test_a_repeated_claim_is_answered_while_the_queue_is_paused(self, broker: Broker) -> None:
        seed(broker)
        first = claim_one(broker, token="k1")
        broker.pause(QUEUE)

        answer = broker.exchange(QUEUE, holder="w:1", token="k1", want=1)

        assert (answer.standing, answer.claimed) == (Standing.CLAIMED, [first])

    def test_a_holder_has_a_batch_in_each_queue(self, broker: Broker) -> None:
        seed(broker)
        seed(broker, queue=OTHER_QUEUE)
        claims = {queue: claim_one(broker, queue=queue, token="k1") for queue in (QUEUE, OTHER_QUEUE)}

        again = {queue: claim_one(broker, queue=queue, token="k1") for queue in (QUEUE, OTHER_QUEUE)}

        assert again == claims

    def test_an_abandoned_holder_claims_nothing_under_any_token(self, broker: Broker) -> None:
        seed(broker, 2)
        claim_one(broker, token="k1")
        broker.abandon(QUEUE, ["w:1"])

        answers = [broker.exchange(QUEUE, holder="w:1", token=token, want=1) for token in ("k1", "k2")]

        assert [(answer.standing, answer.claimed) for answer in answers] == [(Standing.CLOSED, [])] * 2
        with pytest.raises(HolderClosed, match="w:1"):
            broker.claim(QUEUE, holder="w:1")
        assert counts(broker) == {"ready": 2}

    def test_an_abandoned_holder_that_wants_nothing_is_told_nothing(self, broker: Broker) -> None:
        broker.abandon(QUEUE, ["w:1"])

        assert broker.exchange(QUEUE, holder="w:1", token="k1").standing is Standing.UNASKED

    def test_an_abandoned_holder_is_closed_also_while_the_queue_is_paused(self, broker: Broker) -> None:
        broker.abandon(QUEUE, ["w:1"])
        broker.pause(QUEUE)

        assert broker.exchange(QUEUE, holder="w:1", token="k1", want=1).standing is Standing.CLOSED
