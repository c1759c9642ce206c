"""Which queue comes next."""

from collections import Counter

import pytest

from queue_app.testing.clock import FakeClock
from queue_app.worker.turns import EMPTY_REST_SECONDS, Turns

ABC = (("a", 6), ("b", 3), ("c", 1))


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


def take(turns: Turns, want: int, times: int, empty: frozenset[str] = frozenset()) -> Counter[str]:
    """Claim as a slot does, from queues that are always full or always empty. How many tasks came from each."""
    got: Counter[str] = Counter()
    for _ in range(times):
        tried: set[str] = set()
        while choice := turns.choose(tried, want):
            queue, share = choice
            count = 0 if queue in empty else share
            turns.took(queue, share, count)
            got[queue] += count
            if count:
                break
            tried.add(queue)
    return got


def test_one_task_at_a_time_the_order_is_smooth(time: FakeClock) -> None:
    turns = Turns((("a", 2), ("b", 1)), clock=time.now)

    order = [take(turns, 1, 1).most_common(1)[0][0] for _ in range(6)]

    assert order in (["a", "b", "a", "a", "b", "a"], ["a", "a", "b", "a", "a", "b"])


@pytest.mark.parametrize("want", [1, 7, 64])
def test_weights_count_tasks_whatever_the_batch(time: FakeClock, want: int) -> None:
    turns = Turns(ABC, clock=time.now)

    got = take(turns, want, 1_000)

    total = got.total()
    assert got["a"] / total == pytest.approx(0.6, abs=0.02)
    assert got["b"] / total == pytest.approx(0.3, abs=0.02)
    assert got["c"] / total == pytest.approx(0.1, abs=0.02)


def test_a_batch_is_cut_to_the_share_of_its_queue(time: FakeClock) -> None:
    turns = Turns(ABC, clock=time.now)

    assert turns.choose((), 64) == ("a", 38)


def test_an_empty_queue_gives_its_turn_away(time: FakeClock) -> None:
    turns = Turns(ABC, clock=time.now)

    got = take(turns, 10, 1_000, empty=frozenset("a"))

    assert got["a"] == 0
    assert got["b"] / got.total() == pytest.approx(0.75, abs=0.02)


def test_an_empty_queue_saves_nothing_up(time: FakeClock) -> None:
    turns = Turns((("a", 1), ("b", 1)), clock=time.now)
    for _ in range(1_000):
        take(turns, 10, 1, empty=frozenset("b"))
        time.advance(EMPTY_REST_SECONDS)

    got = take(turns, 10, 20)

    assert got["a"] == pytest.approx(got["b"], abs=20)


def test_an_empty_queue_is_asked_again_only_after_a_rest(time: FakeClock) -> None:
    turns = Turns((("a", 1), ("b", 1)), strict=True, clock=time.now)
    turns.took("a", 1, 0)

    assert turns.choose((), 1) == ("b", 1)
    time.advance(EMPTY_REST_SECONDS)
    assert turns.choose((), 1) == ("a", 1)


def test_a_resting_queue_is_asked_before_anybody_goes_idle(time: FakeClock) -> None:
    turns = Turns((("a", 1), ("b", 1)), clock=time.now)
    turns.took("a", 1, 0)
    turns.took("b", 1, 0)

    assert turns.choose({"a"}, 1) == ("b", 1)
    assert turns.choose({"a", "b"}, 1) is None


def test_a_ring_ends_the_rest(time: FakeClock) -> None:
    turns = Turns((("a", 1), ("b", 1)), strict=True, clock=time.now)
    turns.took("a", 1, 0)

    turns.rung("a")

    assert turns.choose((), 1) == ("a", 1)


def test_strict_order_takes_from_the_first_that_has_work(time: FakeClock) -> None:
    turns = Turns(ABC, strict=True, clock=time.now)

    assert take(turns, 10, 100) == Counter(a=1_000)
    assert take(turns, 10, 1, empty=frozenset("a")) == Counter(b=10)


def test_a_refused_queue_is_left_alone_longer_each_time(time: FakeClock) -> None:
    turns = Turns((("a", 1), ("b", 1)), strict=True, clock=time.now)

    assert [turns.set_aside("a") for _ in range(7)] == [0.5, 1, 2, 4, 8, 10, 10]
    assert turns.choose((), 1) == ("b", 1)
    assert turns.usable() == ["b"]
    time.advance(10)
    assert turns.usable() == ["a", "b"]
    turns.took("a", 1, 1)
    assert turns.set_aside("a") == 0.5


def test_credits_stay_bounded(time: FakeClock) -> None:
    turns = Turns(ABC, clock=time.now)

    for step in range(3_000):
        take(turns, 64, 1, empty=frozenset("ab" if step % 3 else "c"))
        time.advance(EMPTY_REST_SECONDS / 2)
    got = take(turns, 10, 1_000)

    assert got["c"] / got.total() == pytest.approx(0.1, abs=0.05)
