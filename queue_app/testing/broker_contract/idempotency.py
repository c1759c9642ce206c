"""Idempotency keys: an enqueue that may be said any number of times."""

import pytest

from queue_app.brokers.base import Broker
from queue_app.core import ids
from queue_app.core.answers import Enqueue, Receipt
from queue_app.core.errors import IdempotencyConflict
from queue_app.core.retention import Retention
from queue_app.core.task import Task
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    claim_one,
    counts,
    new_task,
    picture,
    totals,
)
from queue_app.testing.clock import FakeClock

DAY = 86_400.0
GENERATION = "forgequeue-key-generation"


def keyed(
    key: str = "order-7", *, queue: str = QUEUE, generation: int = 0, payload: bytes = b"1", **fields: object
) -> Task:
    """A task as the client makes it: the id follows from queue, key and generation."""
    return new_task(
        id=ids.keyed_id(queue, key, generation),
        queue=queue,
        idempotency_key=key,
        payload=payload,
        headers={GENERATION: str(generation)},
        **fields,
    )


class IdempotencyContract(Contract):
    """What a store remembers of a key."""

    def test_a_repeat_answers_with_the_first_id_and_changes_nothing(self, broker: Broker) -> None:
        task = keyed()
        broker.enqueue(task)
        before = picture(broker)

        receipt = broker.enqueue(new_task(idempotency_key="order-7", payload=b"1"))

        assert receipt == Receipt(task.id, False)
        assert picture(broker) == before

    @pytest.mark.parametrize("other", [{"payload": b"2"}, {"task_type": "another"}], ids=["payload", "type"])
    def test_another_use_of_a_key_is_a_conflict_and_changes_nothing(
        self, broker: Broker, other: dict[str, object]
    ) -> None:
        task = keyed()
        broker.enqueue(task)
        before = picture(broker)

        (receipt,) = broker.enqueue_many(
            [Enqueue(task=new_task(**{"idempotency_key": "order-7", "payload": b"1"} | other))]
        )

        assert receipt == Receipt(task.id, False, True)
        assert picture(broker) == before

    def test_one_task_raises_conflict_with_the_id_that_has_the_key(self, broker: Broker) -> None:
        task = keyed()
        broker.enqueue(task)

        with pytest.raises(IdempotencyConflict, match="order-7") as caught:
            broker.enqueue(keyed(payload=b"2"))

        assert caught.value.task_id == task.id
        assert counts(broker) == {"ready": 1}

    def test_a_repeat_may_differ_in_all_but_type_and_payload(self, broker: Broker) -> None:
        task = keyed(priority=5, tags=("a",))
        broker.enqueue(task)

        receipt = broker.enqueue(keyed(priority=-5, max_retries=9), delay_seconds=60)

        assert receipt == Receipt(task.id, False)
        assert broker.get(task.id).task.priority == 5

    def test_no_payload_and_an_empty_one_are_the_same(self, broker: Broker) -> None:
        broker.enqueue(keyed(payload=b""))

        receipt = broker.enqueue(new_task(idempotency_key="order-7", payload=None))

        assert not receipt.created

    def test_of_a_key_that_comes_twice_in_one_call_the_first_counts(self, broker: Broker) -> None:
        tasks = [new_task(idempotency_key="order-7", payload=payload) for payload in (b"1", b"1", b"2")]

        receipts = broker.enqueue_many([Enqueue(task=task) for task in tasks])

        first = tasks[0].id
        assert receipts == [Receipt(first, True), Receipt(first, False), Receipt(first, False, True)]
        assert counts(broker) == {"ready": 1}

    def test_a_key_is_remembered_whatever_became_of_its_task(self, broker: Broker) -> None:
        task = keyed()
        broker.enqueue(task)
        broker.ack(claim_one(broker).lease)

        receipt = broker.enqueue(keyed())

        assert receipt == Receipt(task.id, False)
        assert counts(broker) == {}
        assert totals(broker) == {"enqueued": 1, "succeeded": 1}

    def test_a_key_belongs_to_its_queue(self, broker: Broker) -> None:
        broker.enqueue(keyed())

        receipt = broker.enqueue(keyed(queue=OTHER_QUEUE, payload=b"2"))

        assert receipt.created
        assert (counts(broker), counts(broker, OTHER_QUEUE)) == ({"ready": 1}, {"ready": 1})

    def test_a_key_is_forgotten_a_day_after_its_enqueue(self, broker: Broker, clock: FakeClock) -> None:
        task = keyed()
        broker.enqueue(task)
        clock.advance(DAY - 0.25)
        before = broker.enqueue(keyed())
        broker.delete(task.id)
        clock.advance(0.25)

        after = broker.enqueue(keyed())

        assert (before.created, after.created) == (False, True)
        assert counts(broker) == {"ready": 1}

    @pytest.mark.parametrize("retention", [Retention(idempotency_seconds=5.0)], ids=["keys for 5 s"])
    def test_how_long_a_key_is_remembered_is_for_the_owner_to_say(self, broker: Broker, clock: FakeClock) -> None:
        broker.enqueue(keyed())
        broker.ack(claim_one(broker).lease)
        clock.advance(5)

        assert broker.enqueue(keyed()).created

    def test_a_repeat_does_not_renew_the_memory_of_a_key(self, broker: Broker, clock: FakeClock) -> None:
        broker.enqueue(keyed())
        broker.ack(claim_one(broker).lease)
        clock.advance(DAY - 5)
        broker.enqueue(keyed())
        clock.advance(5)

        assert broker.enqueue(keyed()).created

    def test_the_generation_of_a_new_key_is_the_first(self, broker: Broker) -> None:
        assert broker.key_generation(QUEUE, "order-7") == 0

    def test_the_generation_of_a_remembered_key_is_the_one_it_has(self, broker: Broker) -> None:
        broker.enqueue(keyed(generation=3))

        assert broker.key_generation(QUEUE, "order-7") == 3
        assert broker.key_generation(OTHER_QUEUE, "order-7") == 0

    def test_a_forgotten_key_whose_task_is_still_known_has_the_next_generation(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        broker.enqueue(keyed())
        clock.advance(DAY)

        generation = broker.key_generation(QUEUE, "order-7")
        receipt = broker.enqueue(keyed(generation=generation))

        assert generation == 1
        assert receipt.created
        assert broker.key_generation(QUEUE, "order-7") == 1
        assert counts(broker) == {"ready": 2}

    def test_a_forgotten_key_whose_task_has_left_begins_again(self, broker: Broker, clock: FakeClock) -> None:
        broker.enqueue(keyed(generation=4))
        broker.ack(claim_one(broker).lease)
        clock.advance(DAY)

        assert broker.key_generation(QUEUE, "order-7") == 0

    def test_a_sweep_forgets_no_generation_while_its_task_is_known(self, broker: Broker, clock: FakeClock) -> None:
        task = keyed()
        broker.enqueue(task)
        clock.advance(DAY)
        broker.sweep(QUEUE)
        broker.sweep(QUEUE)
        known = broker.key_generation(QUEUE, "order-7")
        broker.delete(task.id)
        broker.sweep(QUEUE)

        assert known == 1
        assert broker.key_generation(QUEUE, "order-7") == 0

    def test_a_sweep_leaves_keys_that_are_still_remembered(self, broker: Broker, clock: FakeClock) -> None:
        broker.enqueue(keyed())
        broker.ack(claim_one(broker).lease)
        clock.advance(DAY - 0.25)

        broker.sweep(QUEUE)

        assert not broker.enqueue(keyed()).created

    def test_an_id_that_does_not_follow_from_the_key_is_taken_as_it_is(self, broker: Broker) -> None:
        task = new_task(id="my-own", idempotency_key="order-7")

        receipt = broker.enqueue(task)

        assert receipt == Receipt("my-own", True)
        assert broker.enqueue(new_task(idempotency_key="order-7")) == Receipt("my-own", False)

    def test_a_known_id_under_a_new_key_leaves_the_key_unused(self, broker: Broker) -> None:
        broker.enqueue(new_task(id="t1"))

        receipts = broker.enqueue_many([Enqueue(task=new_task(id="t1", idempotency_key="order-7"))])

        assert receipts == [Receipt("t1", False)]
        assert broker.enqueue(new_task(id="t2", idempotency_key="order-7", payload=b"2")).created

    def test_a_key_may_be_any_text(self, broker: Broker) -> None:
        key = 'Bestellung 7: "Öl" {a} \n\t:* 💡'

        receipts = [broker.enqueue(keyed(key)) for _ in range(2)]

        assert [receipt.created for receipt in receipts] == [True, False]
