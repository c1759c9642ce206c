"""announce, retire, workers: who is there."""

import msgspec

from queue_app.brokers.base import WORKER_GONE_SECONDS, Broker
from queue_app.core.answers import WorkerRecord
from queue_app.testing.broker_contract.base import QUEUE, Contract, seed
from queue_app.testing.clock import FakeClock

RECORD = WorkerRecord(
    name="host:1",
    host="host",
    pid=1,
    version="0.1",
    queues=(QUEUE,),
    concurrency=4,
    started_at=1.0,
    running=(("t1", "send_email", 0.5),),
    prefetched=2,
    processed=7,
    failed=1,
)


def named(name: str) -> WorkerRecord:
    """A worker of that name."""
    return msgspec.structs.replace(RECORD, name=name)


class WorkerContract(Contract):
    """What workers say of themselves."""

    def test_a_worker_is_told_as_it_said_with_the_time_of_the_store(self, broker: Broker, clock: FakeClock) -> None:
        broker.announce(RECORD)

        assert broker.workers() == [msgspec.structs.replace(RECORD, seen_at=clock.now())]

    def test_the_time_that_a_worker_claims_does_not_count(self, broker: Broker, clock: FakeClock) -> None:
        broker.announce(msgspec.structs.replace(RECORD, seen_at=clock.now() + 1_000))

        assert [worker.seen_at for worker in broker.workers()] == [clock.now()]

    def test_workers_come_by_name(self, broker: Broker, clock: FakeClock) -> None:
        for name in ("b:2", "a:10", "c:1", "a:9"):
            broker.announce(named(name))
            clock.advance(1)

        assert [worker.name for worker in broker.workers()] == ["a:10", "a:9", "b:2", "c:1"]

    def test_the_newest_word_of_a_worker_counts(self, broker: Broker, clock: FakeClock) -> None:
        broker.announce(RECORD)
        clock.advance(1)
        broker.announce(msgspec.structs.replace(RECORD, processed=8, draining=True))

        (worker,) = broker.workers()
        assert (worker.processed, worker.draining, worker.seen_at) == (8, True, clock.now())

    def test_a_worker_that_was_not_heard_of_for_a_while_is_gone(self, broker: Broker, clock: FakeClock) -> None:
        broker.announce(named("a"))
        clock.advance(5)
        broker.announce(named("b"))
        clock.advance(WORKER_GONE_SECONDS - 5.25)
        before = [worker.name for worker in broker.workers()]
        clock.advance(0.25)

        assert before == ["a", "b"]
        assert [worker.name for worker in broker.workers()] == ["b"]

    def test_a_worker_that_was_gone_may_come_back(self, broker: Broker, clock: FakeClock) -> None:
        broker.announce(RECORD)
        clock.advance(WORKER_GONE_SECONDS)
        broker.workers()
        broker.announce(RECORD)

        assert len(broker.workers()) == 1

    def test_a_worker_that_retires_is_forgotten_at_once(self, broker: Broker) -> None:
        broker.announce(named("a"))
        broker.announce(named("b"))

        broker.retire("a")
        broker.retire("never-heard-of")

        assert [worker.name for worker in broker.workers()] == ["b"]

    def test_the_queues_of_a_worker_become_known(self, broker: Broker) -> None:
        seed(broker, queue="c")

        broker.announce(msgspec.structs.replace(RECORD, queues=("b", "a")))

        assert broker.queues() == ["a", "b", "c"]

    def test_there_may_be_no_workers(self, broker: Broker) -> None:
        assert broker.workers() == []
