"""Which queue a slot turns to next.

Weights count tasks: over time each queue that has work gets its share of them, in the smooth order of nginx's weighted
round-robin (whoever has the most credit is next; what it takes is paid back to all by weight). An empty queue gives its
turn away and saves nothing up. Strict order takes from the first queue that has work: the last ones may starve.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence

EMPTY_REST_SECONDS = 0.02
"""A queue found empty is passed over for so long while another one has work: each time it is asked is a call."""
FIRST_REFUSAL_SECONDS = 0.5
LONGEST_REFUSAL_SECONDS = 10.0


class _Turn:
    __slots__ = ("credit", "queue", "refusals", "resting_until", "set_aside_until", "weight")

    def __init__(self, queue: str, weight: int) -> None:
        self.queue = queue
        self.weight = weight
        self.credit = 0.0
        self.resting_until = 0.0
        self.set_aside_until = 0.0
        self.refusals = 0


class Turns:
    """The queues of one runner, shared by its slots."""

    def __init__(
        self,
        queues: Sequence[tuple[str, int]],
        *,
        strict: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.quiet: set[str] = set()
        """Why it is nobody's turn for now; empty when it is somebody's."""
        self._turns = {queue: _Turn(queue, weight) for queue, weight in queues}
        self._only = next(iter(self._turns.values())) if len(self._turns) == 1 else None
        self._strict = strict
        self._clock = clock
        self._lock = threading.Lock()

    def choose(self, tried: Collection[str], want: int) -> tuple[str, int] | None:
        """The next queue that is not among `tried`, and how many of `want` are its share; None when none is left.

        The share is charged at once, so that slots that choose at the same time choose differently; `took` says
        what it really was.
        """
        if self.quiet:
            return None
        if self._only is not None:
            return (
                None if self._only.queue in tried or self.is_set_aside(self._only.queue) else (self._only.queue, want)
            )
        with self._lock:
            now = self._clock()
            usable = [turn for turn in self._turns.values() if turn.set_aside_until <= now]
            awake = [turn for turn in usable if turn.resting_until <= now]
            left = [turn for turn in awake if turn.queue not in tried] or [
                turn for turn in usable if turn.queue not in tried
            ]
            if not left:
                return None
            if self._strict:
                return left[0].queue, want
            turn = max(left, key=lambda each: each.credit + each.weight)
            total = sum(each.weight for each in awake) if turn in awake else turn.weight
            share = max(want * turn.weight // total, 1)
            self._charge(turn, share, now)
            return turn.queue, share

    def took(self, queue: str, share: int, count: int) -> None:
        """`count` came where `share` had been charged; none means that the queue gives its turn away."""
        turn = self._turns[queue]
        turn.refusals = 0
        if self._only is not None:
            return
        if self._strict:
            turn.resting_until = 0.0 if count else self._clock() + EMPTY_REST_SECONDS
            return
        with self._lock:
            now = self._clock()
            self._charge(turn, count - share, now)
            turn.resting_until = 0.0 if count else now + EMPTY_REST_SECONDS
            if not count:
                self._give_away(turn, now)

    def set_aside(self, queue: str) -> float:
        """The store refuses to work on it: leave it alone for a while, longer each time. Returns the seconds."""
        with self._lock:
            turn = self._turns[queue]
            seconds = min(FIRST_REFUSAL_SECONDS * 2.0 ** min(turn.refusals, 20), LONGEST_REFUSAL_SECONDS)
            turn.refusals += 1
            turn.set_aside_until = self._clock() + seconds
            return seconds

    def is_set_aside(self, queue: str) -> bool:
        """Whether it is left alone now."""
        return self._turns[queue].set_aside_until > self._clock()

    def set_aside_for(self, queue: str) -> float:
        """For how many seconds more."""
        return max(self._turns[queue].set_aside_until - self._clock(), 0.0)

    def usable(self) -> list[str]:
        """The queues that are not left alone."""
        if self.quiet:
            return []
        now = self._clock()
        return [turn.queue for turn in self._turns.values() if turn.set_aside_until <= now]

    def rung(self, queue: str) -> None:
        """It may have work: it need not rest."""
        self._turns[queue].resting_until = 0.0

    def _give_away(self, turn: _Turn, now: float) -> None:
        """Share its credit out, so that credits go on adding up to nothing however often it is found empty."""
        others = [each for each in self._turns.values() if each is not turn and each.resting_until <= now]
        total = sum(each.weight for each in others)
        for each in others:
            each.credit += turn.credit * each.weight / total
        turn.credit = 0.0

    def _charge(self, turn: _Turn, count: int, now: float) -> None:
        awake = [each for each in self._turns.values() if each.resting_until <= now]
        for each in awake:
            each.credit += each.weight * count
        turn.credit -= sum(each.weight for each in awake) * count
