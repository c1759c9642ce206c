"""What has happened in a queue: in all, over time, and the last few tasks to finish."""

from collections import Counter, deque
from itertools import islice

import msgspec

from queue_app.brokers.base import RECENT_LIMIT, THROUGHPUT_COARSE, THROUGHPUT_FINE
from queue_app.core.answers import Bucket, Recent
from queue_app.core.states import State


class Events:
    """Counts by event, and in buckets of two widths."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self._fine = Buckets(*THROUGHPUT_FINE)
        self._coarse = Buckets(*THROUGHPUT_COARSE)

    def count(self, event: str, now: float, times: int = 1) -> None:
        """It happened so many times, just now."""
        if times == 0:
            return
        self.totals[event] += times
        self._fine.count(event, now, times)
        self._coarse.count(event, now, times)

    def throughput(self, now: float, *, coarse: bool) -> list[Bucket]:
        """The buckets in reach, oldest first."""
        return (self._coarse if coarse else self._fine).within(now)

    def forget(self, now: float) -> None:
        """Drop the buckets that are out of reach."""
        self._fine.forget(now)
        self._coarse.forget(now)


class Buckets:
    """Stretches of `width` seconds, as far back as `reach`."""

    def __init__(self, width: float, reach: float) -> None:
        self._width = width
        self._reach = reach
        self._counts: dict[float, Counter[str]] = {}

    def count(self, event: str, now: float, times: int) -> None:
        self._counts.setdefault(now // self._width * self._width, Counter())[event] += times

    def within(self, now: float) -> list[Bucket]:
        oldest = now - self._reach - self._width
        return [Bucket(start, dict(self._counts[start])) for start in sorted(self._counts) if start > oldest]

    def forget(self, now: float) -> None:
        self._counts = {start: counts for start, counts in self._counts.items() if start >= now - self._reach}


class RecentList:
    """The newest finished tasks, newest first."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, State, bytes]] = deque(maxlen=RECENT_LIMIT)

    def remember(self, state: State, note: bytes, now: float) -> None:
        """One more line; none where there is no note."""
        if note:
            self._lines.appendleft((now, state, note))

    def newest(self, limit: int) -> list[Recent]:
        """The lines that can be read."""
        read = (_read(*line) for line in islice(self._lines, limit))
        return [line for line in read if line is not None]


def _read(finished_at: float, state: State, note: bytes) -> Recent | None:
    try:
        task_id, task_type, attempt, seconds = msgspec.json.decode(note, type=tuple[str, str, int, float])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Recent(finished_at, state, task_id, task_type, attempt, seconds)
