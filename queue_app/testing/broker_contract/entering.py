"""enqueue: — → ready, or scheduled when due later."""

import pytest

from queue_app.brokers.base import Broker
from queue_app.core.answers import Enqueue, Receipt
from queue_app.core.errors import DuplicateTask, InvalidName
from queue_app.core.states import State
from queue_app.testing.broker_contract.base import (
    OTHER_QUEUE,
    QUEUE,
    Contract,
    cancelled_one,
    claim,
    counts,
    dead_one,
    ids_of,
    kept_one,
    listed,
    new_task,
    picture,
    retrying_one,
    running_one,
    seed,
    totals,
)
from queue_app.testing.clock import FakeClock
from queue_app.testing.conservation import list_all


class EnqueueContract(Contract):
    """How tasks come in."""

    def test_enqueue_makes_a_task_ready(self, broker: Broker) -> None:
        task = new_task(payload=b"{}")

        receipt = broker.enqueue(task)

        assert receipt == Receipt(task.id, True)
        assert counts(broker) == {"ready": 1}
        assert totals(broker) == {"enqueued": 1}

    def test_an_enqueued_task_is_found_as_it_was_given(self, broker: Broker) -> None:
        task = new_task(payload=b"\x00\xff", priority=3, tags=("a", "b"), headers={"trace": "1"}, max_retries=-1)

        broker.enqueue(task)

        found = broker.get(task.id)
        assert (found.task, found.state, found.queue, found.at) == (task, State.READY, QUEUE, None)
        assert (found.result, found.cancel_requested) == (None, False)

    def test_a_delay_makes_it_scheduled_by_the_clock_of_the_store(self, broker: Broker, clock: FakeClock) -> None:
        task = new_task()

        broker.enqueue(task, delay_seconds=2.5)

        assert counts(broker) == {"scheduled": 1}
        assert broker.get(task.id).at == clock.now() + 2.5

    def test_a_due_time_makes_it_scheduled_for_that_time(self, broker: Broker, clock: FakeClock) -> None:
        task = new_task()

        broker.enqueue(task, due_at=clock.now() + 0.25)

        assert counts(broker) == {"scheduled": 1}
        assert broker.get(task.id).at == clock.now() + 0.25

    def test_a_due_time_comes_before_a_delay(self, broker: Broker, clock: FakeClock) -> None:
        task = new_task()

        broker.enqueue(task, due_at=clock.now() + 5, delay_seconds=60.0)

        assert broker.get(task.id).at == clock.now() + 5

    @pytest.mark.parametrize("due_in", [0.0, -0.25, -86_400.0])
    def test_what_is_due_now_or_was_before_is_ready_at_once(
        self, broker: Broker, clock: FakeClock, due_in: float
    ) -> None:
        broker.enqueue(new_task(), due_at=clock.now() + due_in)

        assert counts(broker) == {"ready": 1}

    def test_a_negative_delay_is_none(self, broker: Broker) -> None:
        broker.enqueue(new_task(), delay_seconds=-5.0)

        assert counts(broker) == {"ready": 1}

    def test_receipts_come_one_per_entry_in_order(self, broker: Broker) -> None:
        queues = [QUEUE, OTHER_QUEUE, QUEUE, "third", OTHER_QUEUE]
        tasks = [new_task(queue=queue) for queue in queues]

        receipts = broker.enqueue_many([Enqueue(task=task) for task in tasks])

        assert receipts == [Receipt(task.id, True) for task in tasks]
        assert [counts(broker, queue) for queue in (QUEUE, OTHER_QUEUE, "third")] == [
            {"ready": 2},
            {"ready": 2},
            {"ready": 1},
        ]

    def test_nothing_enqueued_is_nothing_done(self, broker: Broker) -> None:
        assert broker.enqueue_many([]) == []
        assert broker.queues() == []

    def test_more_than_a_slice_comes_in_whole_and_in_order(self, broker: Broker) -> None:
        task_ids = seed(broker, 1_201)

        assert counts(broker) == {"ready": 1_201}
        assert totals(broker) == {"enqueued": 1_201}
        assert [snapshot.id for snapshot in list_all(broker, QUEUE, State.READY)] == task_ids

    def test_ready_and_scheduled_ones_may_come_together(self, broker: Broker) -> None:
        broker.enqueue_many(
            [Enqueue(task=new_task()), Enqueue(task=new_task(), delay_seconds=1), Enqueue(task=new_task())]
        )

        assert counts(broker) == {"ready": 2, "scheduled": 1}

    def test_a_known_id_changes_nothing_in_any_state(self, broker: Broker) -> None:
        known = [
            *seed(broker, due_in=9.0),
            retrying_one(broker),
            dead_one(broker),
            cancelled_one(broker),
            kept_one(broker),
            running_one(broker).lease.task_id,
            *seed(broker),
        ]
        before = picture(broker)

        receipts = broker.enqueue_many([Enqueue(task=new_task(id=task_id, task_type="other")) for task_id in known])

        assert receipts == [Receipt(task_id, False) for task_id in known]
        assert picture(broker) == before
        assert sum(counts(broker).values()) == len(State)

    def test_a_known_id_changes_nothing_when_it_comes_with_a_delay(self, broker: Broker) -> None:
        (task_id,) = seed(broker)

        (receipt,) = broker.enqueue_many([Enqueue(task=new_task(id=task_id), delay_seconds=60.0)])

        assert receipt == Receipt(task_id, False)
        assert counts(broker) == {"ready": 1}

    def test_the_same_entries_sent_again_are_repeats(self, broker: Broker) -> None:
        entries = [Enqueue(task=new_task()), Enqueue(task=new_task(), delay_seconds=5)]
        first = broker.enqueue_many(entries)
        before = picture(broker)

        second = broker.enqueue_many(entries)

        assert [receipt.created for receipt in first] == [True, True]
        assert second == [Receipt(receipt.task_id, False) for receipt in first]
        assert picture(broker) == before

    def test_of_an_id_that_comes_twice_in_one_call_the_first_counts(self, broker: Broker) -> None:
        entries = [Enqueue(task=new_task(id="t1", task_type=name)) for name in ("first", "second")]

        receipts = broker.enqueue_many(entries)

        assert receipts == [Receipt("t1", True), Receipt("t1", False)]
        assert broker.get("t1").task.task_type == "first"
        assert counts(broker) == {"ready": 1}

    def test_an_id_that_another_queue_knows_changes_nothing(self, broker: Broker) -> None:
        if not self.ids_are_unique_across_queues:
            pytest.skip("this store sees one queue at a time")
        (task_id,) = seed(broker)

        (receipt,) = broker.enqueue_many([Enqueue(task=new_task(id=task_id, queue=OTHER_QUEUE))])

        assert receipt == Receipt(task_id, False)
        assert counts(broker) == {"ready": 1}
        assert counts(broker, OTHER_QUEUE) == {}

    def test_an_id_that_has_left_may_come_again(self, broker: Broker) -> None:
        claimed = running_one(broker)
        broker.ack(claimed.lease)

        receipt = broker.enqueue(new_task(id=claimed.lease.task_id))

        assert receipt.created
        assert counts(broker) == {"ready": 1}

    def test_an_id_whose_record_is_past_retention_may_come_again_before_a_sweep(
        self, broker: Broker, clock: FakeClock
    ) -> None:
        task_id = kept_one(broker, keep_seconds=60.0)
        clock.advance(60)

        receipt = broker.enqueue(new_task(id=task_id))

        assert receipt.created
        assert counts(broker) == {"ready": 1}
        assert broker.get(task_id).result is None
        assert broker.sweep(QUEUE).count == 0

    def test_one_task_raises_duplicate_for_a_known_id(self, broker: Broker) -> None:
        (task_id,) = seed(broker)

        with pytest.raises(DuplicateTask, match=task_id):
            broker.enqueue(new_task(id=task_id))

        assert counts(broker) == {"ready": 1}

    @pytest.mark.parametrize(
        "fields",
        [
            {"queue": "no spaces"},
            {"queue": ""},
            {"queue": "q" * 101},
            {"queue": "braces{}"},
            {"id": ""},
            {"id": "no/slash"},
            {"id": "*"},
            {"idempotency_key": ""},
            {"idempotency_key": "k" * 201},
        ],
        ids=lambda fields: "-".join(f"{name}={value:.9}" for name, value in fields.items()),
    )
    def test_a_name_that_no_store_can_carry_is_refused_with_all_that_came_with_it(
        self, broker: Broker, fields: dict[str, str]
    ) -> None:
        entries = [Enqueue(task=new_task()), Enqueue(task=new_task(**fields))]

        with pytest.raises(InvalidName):
            broker.enqueue_many(entries)

        assert counts(broker) == {}
        assert totals(broker) == {}

    def test_a_body_of_a_megabyte_comes_back_as_it_went(self, broker: Broker) -> None:
        task = new_task(payload=bytes(range(256)) * 4_096)

        broker.enqueue(task)

        assert claim(broker, 1)[0].task == task

    def test_larger_priorities_are_taken_first_and_the_oldest_within_one(self, broker: Broker) -> None:
        by_priority = {priority: seed(broker, 2, priority=priority) for priority in (0, -1, 7, -100, 100, 0, 7)}
        second = {priority: seed(broker, 1, priority=priority) for priority in (7, -1, 0)}

        claimed = ids_of(claim(broker, 15 + 2, holder="w:1"))

        assert claimed[:2] == by_priority[100]
        assert claimed[4:7] == by_priority[7] + second[7]
        assert claimed[-5:] == by_priority[-1] + second[-1] + by_priority[-100]

    def test_ready_tasks_are_listed_in_the_order_in_which_they_will_be_claimed(self, broker: Broker) -> None:
        for priority in (0, -3, 5, 0, 100, -100, 5):
            seed(broker, 2, priority=priority)
        order = listed(broker, State.READY)

        claimed = ids_of(claim(broker, 14))

        assert claimed == order
