"""One reply of a whole life is lost, at every point of it: what is in the store at the end is what it would have been.

The life has every verb in it. Whoever gets no answer asks again, the same in every word: the worker by itself, a person
by hand, for whom "gone" or "in another state" is then a yes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queue_app.brokers.redis import RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.core import codec, policy
from queue_app.core.answers import Enqueue
from queue_app.core.errors import StoreUnavailable, TaskGone, WrongState
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Failed, Released, Snoozed, Spent, Succeeded
from queue_app.core.states import State
from queue_app.core.task import AttemptError, Task
from queue_app.testing.clock import FakeClock
from queue_app.testing.conservation import assert_conserved, walk
from tests.faults.proxy import Fault, Proxy, Request

HANDSHAKE = ("CLIENT", "SELECT")


class Life:
    """A broker behind a proxy, its clock, and somebody who asks again."""

    def __init__(self, proxy: Proxy) -> None:
        self.is_faulty = False
        self.clock = FakeClock()
        self._connection = connect(proxy.url)
        self.broker = RedisBroker(self._connection, clock=self.clock)

    def ask(self, verb: str, *arguments: Any, **how: Any) -> Any:
        """The answer, to the first call or to the second, which the connection may have made by itself."""
        call = getattr(self.broker, verb)
        try:
            try:
                return call(*arguments, **how)
            except StoreUnavailable:
                return call(*arguments, **how)
        except (TaskGone, WrongState):
            if not self.is_faulty:
                raise
            return None

    def live(self) -> None:
        """From the first enqueue to the last sweep."""
        task = self._task
        self.ask("enqueue_many", [Enqueue(task=task(name)) for name in "abcdefgh"])
        self.ask(
            "enqueue_many", [Enqueue(task=task("late"), delay_seconds=60), Enqueue(task=task("first", priority=9))]
        )
        self.ask("enqueue_many", [Enqueue(task=task("k", idempotency_key="key"))])
        first, a, b, c = self._claim("t1", 4)
        self.ask("heartbeat", "tasks", ["w:0"])
        kept = Succeeded(lease=a.lease, keep_seconds=60.0, result=b"1", body=a.body)
        d, e = self._claim(
            "t2", 2, Succeeded(lease=first.lease), kept, failed(b), Snoozed(lease=c.lease, delay_seconds=30)
        )
        self.ask("cancel", "d")
        self.ask("cancel", "f")
        self.ask("delete", "g")
        self.ask("exchange", "tasks", holder="", token="", outcomes=[Released(lease=d.lease), spent(e)])
        self.ask("revive", "e")
        self.ask("revive", "f")
        self.ask("promote_now", "late")
        self.clock.advance(31)
        self.ask("promote", "tasks")
        self.ask("pause", "tasks")
        self.ask("resume", "tasks")
        self._claim("t3", 3)
        self.clock.advance(11)
        self.ask("reclaim", "tasks", lambda claimed: policy.after_lost_worker(claimed, at=1.0))
        self._claim("t4", 2, holder="w:1")
        self.ask("abandon", "tasks", ["w:1"])
        self.ask("purge", "tasks")
        self.ask("enqueue_many", [Enqueue(task=task("z"))])
        self.clock.advance(100)
        self.ask("promote", "tasks")
        self.ask("sweep", "tasks")

    def end(self) -> tuple[dict[str, tuple[State, int, int, bool]], dict[str, int]]:
        """Each task with its state, attempts, errors and whether it has a result; and the totals."""
        tasks = {
            each.id: (each.state, each.task.attempts, len(each.task.errors), each.result is not None)
            for each in walk(self.broker, "tasks")
        }
        return tasks, self.broker.stats("tasks").totals

    def check(self) -> None:
        assert_conserved(self.broker)
        assert inspect(self._connection) == []

    def close(self) -> None:
        self.broker.close()

    def _task(self, name: str, **fields: Any) -> Task:
        return Task(id=name, task_type="x", max_retries=3, **fields)

    def _claim(self, token: str, count: int, *outcomes: Any, holder: str = "w:0") -> list[Claimed]:
        claimed: list[Claimed] = self.ask(
            "exchange", "tasks", holder=holder, token=token, outcomes=outcomes, want=count
        ).claimed
        assert len(claimed) == count
        return claimed


ERROR = AttemptError(attempt=1, type="E", message="m", at=1.0)


def failed(claimed: Claimed) -> Failed:
    body = codec.amend(claimed.body, attempts=1, errors=(ERROR,))
    return Failed(lease=claimed.lease, body=body, delay_seconds=5.0)


def spent(claimed: Claimed) -> Spent:
    return Spent(lease=claimed.lease, body=codec.amend(claimed.body, attempts=1, errors=(ERROR,)))


@pytest.fixture
def life(proxy: Proxy) -> Iterator[Callable[[], Life]]:
    """A new life over an empty store."""
    begun: list[Life] = []

    def begin() -> Life:
        begun.append(Life(proxy))
        begun[-1].broker._connection.command("FLUSHALL")
        proxy.requests.clear()
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


def on_the(point: int, fault: Fault) -> Callable[[Request], Fault | None]:
    """This fault for the so-manieth request that is a call of ours."""
    seen: list[Request] = []

    def plan(request: Request) -> Fault | None:
        if request.name in HANDSHAKE:
            return None
        seen.append(request)
        return fault if len(seen) == point else None

    return plan


@pytest.mark.parametrize("fault", [Fault.REPLY_LOST, Fault.REPLY_CUT, Fault.REFUSED])
def test_one_lost_reply_at_any_point_of_a_life_changes_nothing(
    proxy: Proxy, life: Callable[[], Life], fault: Fault
) -> None:
    plain = life()
    plain.live()
    points = len([each for each in proxy.requests if each.name not in HANDSHAKE])
    expected = plain.end()
    assert len(expected[0]) >= 3
    assert points > 25

    for point in range(1, points + 1):
        faulty = life()
        faulty.is_faulty = True
        proxy.plan = on_the(point, fault)
        faulty.live()
        proxy.plan = lambda request: None
        assert faulty.end() == expected, f"{fault.name} at request {point}"
        faulty.check()


@pytest.mark.parametrize("fault", [Fault.REPLY_LOST, Fault.REFUSED])
def test_nor_does_one_on_every_other_request(proxy: Proxy, life: Callable[[], Life], fault: Fault) -> None:
    plain = life()
    plain.live()
    expected = plain.end()
    faulty = life()
    faulty.is_faulty = True
    last: list[tuple[bytes, ...]] = []

    def plan(request: Request) -> Fault | None:
        if request.name in HANDSHAKE or (last and last.pop() == request.words):
            return None
        last[:] = [request.words]
        return fault

    proxy.plan = plan
    faulty.live()
    proxy.plan = lambda request: None

    assert faulty.end() == expected
    faulty.check()
