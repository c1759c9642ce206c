"""The rig of the failure scenarios: an engine, workers, the ledger, and the checks that follow each test."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable

from queue_app import arguments
from queue_app.brokers.redis import RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.core import ids
from queue_app.core.answers import Enqueue
from queue_app.core.errors import StoreUnavailable
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.conservation import assert_conserved, walk
from tests.process.engine import Engine
from tests.process.ledger import Ledger
from tests.process.workers import Workers

LEASE_SECONDS = 1.0


class Rig:
    """What a scenario needs."""

    def __init__(self, engine: Engine, workers: Workers, ledger: Ledger, seed: int) -> None:
        self.engine = engine
        self.workers = workers
        self.ledger = ledger
        self.random = random.Random(seed)
        self.seed = seed
        self.enqueued: list[str] = []
        self._connection = connect(engine.url)
        self.broker = RedisBroker(self._connection)

    # --- tasks --------------------------------------------------------------------------------------------------------

    def enqueue(
        self, name: str = "work", *args: object, delay: float = 0.0, again: bool = True, **fields: object
    ) -> str:
        """Enqueue one of the tasks of tests.process.tasks; with `again` until the engine has said yes. Its id."""
        return self.enqueue_many([(name, args, delay, fields)], again=again)[0]

    def enqueue_many(
        self, wanted: Iterable[tuple[str, tuple[object, ...], float, dict[str, object]]], *, again: bool = True
    ) -> list[str]:
        """The same for many, in one call: name, arguments, delay and further fields of each."""
        entries = [Enqueue(task=_task(name, args, fields), delay_seconds=delay) for name, args, delay, fields in wanted]
        until(lambda: self._is_stored(entries, again=again), "the engine took the tasks")
        stored = [entry.task.id for entry in entries]
        self.enqueued += stored
        return stored

    def _is_stored(self, entries: list[Enqueue], *, again: bool) -> bool:
        try:
            self.broker.enqueue_many(entries)
        except StoreUnavailable:
            if not again:
                raise
            return False
        return True

    def wait_for_end(self, task_ids: Iterable[str], seconds: float) -> None:
        """Until the ledger has an end for each."""
        wanted = set(task_ids)
        until(lambda: wanted <= self.ledger.ended(), "all tasks ended", seconds)

    def wait_until_settled(self, seconds: float = 10.0) -> None:
        """Until nothing waits and nothing runs."""
        until(lambda: not any(self.unfinished().values()), "everything settled", seconds)

    def unfinished(self) -> Counter[State]:
        """How many tasks of all queues are in each state that is not an end."""
        return sum((self.unfinished_of(queue) for queue in self.broker.queues()), Counter())

    def unfinished_of(self, queue: str) -> Counter[State]:
        """The same for one queue."""
        counts = self.broker.stats(queue).counts
        return Counter({state: count for state, count in counts.items() if count and not state.is_finished})

    # --- checks -------------------------------------------------------------------------------------------------------

    def check_conservation(self) -> None:
        """C: every id is in exactly one state or has left it succeeded; counts agree with a walk; no stray keys."""
        assert_conserved(self.broker)
        here = {snapshot.id for queue in self.broker.queues() for snapshot in walk(self.broker, queue)}
        lost = set(self.enqueued).difference(here, self.ledger.ended())
        assert not lost, f"lost without an end in the ledger: {lost}"
        assert inspect(self._connection) == []

    def check_liveness(self, lease_seconds: float = LEASE_SECONDS, queue: str = "tasks") -> None:
        """V: 20 fresh tasks and a delayed one finish within three leases and two seconds; nobody restarts a worker."""
        fresh = [("work", (), 0.0, {"queue": queue})] * 20 + [("work", (), 0.5, {"queue": queue})]
        self.wait_for_end(self.enqueue_many(fresh), 3 * lease_seconds + 2)

    def check_once(self, task_ids: Iterable[str] | None = None) -> None:
        """Each task has one start, one end, and they are of attempt 1."""
        starts, ends = self.ledger.by_task("start"), self.ledger.by_task("end")
        for task_id in self.enqueued if task_ids is None else task_ids:
            assert [entry.attempt for entry in starts[task_id]] == [1], starts[task_id]
            assert [entry.attempt for entry in ends[task_id]] == [1], ends[task_id]

    def close(self) -> None:
        """Let go of the engine."""
        self.broker.close()


def until(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Wait until it is so, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.1f} s: {what}"
        time.sleep(0.01)


def _task(name: str, args: tuple[object, ...], fields: dict[str, object]) -> Task:
    payload = arguments.encode(args, {}, 2_000_000)
    defaults: dict[str, object] = {"id": ids.new_id(), "task_type": f"tests.process.tasks.{name}", "max_retries": 3}
    return Task(payload=payload, **(defaults | fields))  # type: ignore[arg-type]
