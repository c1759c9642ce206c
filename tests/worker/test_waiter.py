"""How idle slots wait."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from queue_app.core.errors import StoreRefused
from queue_app.core.states import State
from queue_app.worker.waiter import Waiter
from tests.worker.kit import Kit, lines

MakeKit = Callable[..., Kit]


class Sleeper:
    """A store whose `wait` notes for how long it was to sleep, and answers what the test says."""

    def __init__(self, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timeouts: list[float] = []
        self.queues: list[list[str]] = []
        self.answers: list[str | None] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self._time = kit.time
        monkeypatch.setattr(kit.broker, "wait", self._wait, raising=False)

    def _wait(self, queues: list[str], timeout_seconds: float) -> str | None:
        self.queues.append(list(queues))
        self.timeouts.append(timeout_seconds)
        answer = self.answers.pop(0) if self.answers else None
        if answer is None:
            self._time.advance(timeout_seconds)
        self.meanwhile()
        return answer


@pytest.fixture
def sleeper(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> Sleeper:
    return Sleeper(kit, monkeypatch)


def sent(kit: Kit, *verbs: str) -> list[str]:
    return [verb for verb, _, _ in kit.broker.calls if verb in verbs]


def test_an_idle_slot_sleeps_five_seconds_and_then_tries_a_claim(kit: Kit, sleeper: Sleeper) -> None:
    for _ in range(6):
        kit.slot.run_once()

    assert sleeper.timeouts == [5.0] * 6
    assert len(sent(kit, "exchange")) == 6


def test_where_others_push_tasks_it_sleeps_a_second(make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = make_kit(foreign_producers=True)
    sleeper = Sleeper(kit, monkeypatch)

    kit.slot.run_once()

    assert sleeper.timeouts == [1.0]


def test_a_ring_ends_the_sleep_and_the_rung_queue_alone_is_asked(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1), ("c", 1)))
    sleeper = Sleeper(kit, monkeypatch)
    sleeper.answers = ["b"]
    kit.slot.run_once()
    task_id = kit.enqueue(queue="b")
    kit.broker.calls.clear()

    kit.slot.run_once()

    assert kit.ran == [task_id]
    assert [arguments[0] for verb, arguments, _ in kit.broker.calls if verb == "exchange"] == ["b"]


def test_the_sleep_ends_when_a_task_falls_due_which_is_then_promoted_and_run(kit: Kit, sleeper: Sleeper) -> None:
    task_id = kit.enqueue(delay=2.0)

    kit.slot.run_once()
    kit.slot.run_once()

    assert sleeper.timeouts == [pytest.approx(2.0)]
    assert kit.ran == [task_id]


def test_a_long_sleep_ends_early_for_a_task_that_is_due_in_a_minute(kit: Kit, sleeper: Sleeper) -> None:
    task_id = kit.enqueue(delay=61.0)

    while not kit.ran:
        kit.slot.run_once()

    assert kit.ran == [task_id]
    assert sum(sleeper.timeouts) == pytest.approx(61.0, abs=0.1)
    assert len(sent(kit, "promote")) == 1


def test_a_lull_looks_at_two_queues_in_turn(make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1), ("c", 1)))
    Sleeper(kit, monkeypatch)
    kit.slot.run_once()
    kit.broker.calls.clear()

    for _ in range(3):
        kit.slot.run_once()

    asked = [arguments[0] for verb, arguments, _ in kit.broker.calls if verb == "exchange"]
    assert sorted(asked) == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize("names", ["a", "ab", "abc"])
def test_a_minute_of_idleness_is_at_most_sixty_calls(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    kit = make_kit(queues=tuple((name, 1) for name in names))
    sleeper = Sleeper(kit, monkeypatch)
    worker = kit.worker
    kit.slot.run_once()
    kit.broker.calls.clear()
    started = kit.time.now()
    due = dict.fromkeys([worker.heart, worker.reclaimer, worker.promoter, worker.announcer], started)

    def duties() -> None:
        for duty, at in due.items():
            if at <= kit.time.now():
                due[duty] = kit.time.now() + duty.run_once()

    sleeper.meanwhile = duties
    while kit.time.now() < started + 60:
        kit.slot.run_once()

    calls = [verb for verb, _, _ in kit.broker.calls] + ["wait"] * len(sleeper.timeouts)
    assert {"heartbeat", "reclaim", "promote"}.isdisjoint(calls)
    assert len(calls) <= 60


def test_a_paused_queue_is_no_hot_loop(kit: Kit, sleeper: Sleeper) -> None:
    kit.enqueue()
    kit.broker.pause("tasks")

    for _ in range(3):
        kit.slot.run_once()

    assert kit.ran == []
    assert sleeper.timeouts == [5.0, 5.0, 5.0]


def test_a_marker_of_another_type_sets_its_queue_aside_and_the_others_wait_on(
    make_kit: MakeKit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kit = make_kit(queues=(("a", 1), ("b", 1)))
    asked: list[list[str]] = []

    def wait(queues: list[str], timeout_seconds: float) -> str | None:
        asked.append(list(queues))
        if "a" in queues:
            raise StoreRefused("WRONGTYPE")
        return "b"

    monkeypatch.setattr(kit.broker, "wait", wait, raising=False)
    kit.slot.run_once()
    task_id = kit.enqueue(queue="b")
    while not kit.ran:
        kit.slot.run_once()

    assert kit.ran == [task_id]
    assert asked[0] == ["a", "b"]
    assert "store refused queue=a duty=waiter error=WRONGTYPE" in lines(caplog, "store refused")


# --- the leader -----------------------------------------------------------------------------------------------------


class Blocking:
    """A store on which one can really sleep."""

    def __init__(self, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asleep = 0
        self.most_asleep = 0
        self.fell_asleep = threading.Semaphore(0)
        self._ring = threading.Semaphore(0)
        self._lock = threading.Lock()
        monkeypatch.setattr(kit.broker, "wait", self._wait, raising=False)

    def ring(self) -> None:
        self._ring.release()

    def _wait(self, queues: list[str], timeout_seconds: float) -> str | None:
        with self._lock:
            self.asleep += 1
            self.most_asleep = max(self.asleep, self.most_asleep)
        self.fell_asleep.release()
        rung = self._ring.acquire(timeout=5)
        with self._lock:
            self.asleep -= 1
        return queues[0] if rung else None


def waiting(waiter: Any, slot: Any, log: list[tuple[str, list[str]]]) -> threading.Thread:
    thread = threading.Thread(target=lambda: log.append((slot.holder, waiter.wait(slot))), daemon=True)
    thread.start()
    return thread


@pytest.fixture
def four(make_kit: MakeKit) -> Kit:
    return make_kit(concurrency=4)


def test_one_slot_waits_at_the_store_and_the_others_wait_for_it(four: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Blocking(four, monkeypatch)
    waiter = four.worker.runner.waiter
    log: list[tuple[str, list[str]]] = []
    threads = [waiting(waiter, slot, log) for slot in four.worker.runner.slots]
    assert store.fell_asleep.acquire(timeout=5)

    store.ring()
    threads[0].join(5)

    assert log == [("w1:0", ["tasks"])]
    # He who was woken keeps the role until he has something to run.
    assert not store.fell_asleep.acquire(timeout=0.05)
    waiter.hand_on(four.worker.runner.slots[0])
    assert store.fell_asleep.acquire(timeout=5)
    assert store.most_asleep == 1
    waiter.close()
    store.ring()
    for thread in threads:
        thread.join(5)


def test_closing_sends_the_others_home_at_once(four: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Blocking(four, monkeypatch)
    waiter = four.worker.runner.waiter
    log: list[tuple[str, list[str]]] = []
    leader = waiting(waiter, four.worker.runner.slots[0], log)
    assert store.fell_asleep.acquire(timeout=5)
    others = [waiting(waiter, slot, log) for slot in four.worker.runner.slots[1:]]

    waiter.close()
    for thread in others:
        thread.join(5)

    assert [look for _, look in log] == [[], [], []]
    assert waiter.is_at_store(four.worker.runner.slots[0])
    store.ring()
    leader.join(5)


def test_a_ring_that_comes_after_the_close_is_passed_on(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Blocking(kit, monkeypatch)
    waiter = kit.worker.runner.waiter
    assert isinstance(waiter, Waiter)
    log: list[tuple[str, list[str]]] = []
    leader = waiting(waiter, kit.slot, log)
    assert store.fell_asleep.acquire(timeout=5)
    task_id = kit.enqueue()
    waiter.close()

    store.ring()
    leader.join(5)

    assert log == [("w1:0", [])]
    assert kit.state(task_id) is State.READY
    assert kit.broker.stats("tasks").totals["released"] == 1


def test_a_ring_that_comes_after_the_end_touches_nothing(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Blocking(kit, monkeypatch)
    waiter = kit.worker.runner.waiter
    log: list[tuple[str, list[str]]] = []
    leader = waiting(waiter, kit.slot, log)
    assert store.fell_asleep.acquire(timeout=5)
    kit.enqueue()
    waiter.leave()

    store.ring()
    leader.join(5)

    assert "released" not in kit.broker.stats("tasks").totals
