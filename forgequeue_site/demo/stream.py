"""The stream of sample tasks: mostly quick ones, some slow, some that fail, some for later."""

import random
import time
from collections.abc import Callable

from forgequeue_site import tasks


class Stream:
    """Enqueues `rate` tasks a second, as the clock says they are due. The first ones are one of each kind."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now."""
        self.rate = rate
        self.clock = clock
        self.started_at = clock()
        self.enqueued = 0
        self._random = random.Random()  # noqa: S311 - no secret
        self._weights = {self._echo: 60, self._sleep: 20, self._later: 8, self._recover: 8, self._fail: 4}
        self._first = list(self._weights)

    def run_once(self) -> int:
        """Enqueue what is due; how many that was. One second's worth at most: a stall is not made up for."""
        due = int((self.clock() - self.started_at) * self.rate)
        behind = due - self.enqueued
        count = min(behind, max(1, int(self.rate)))
        for _ in range(count):
            self._enqueue_one()
        self.enqueued = due
        return max(count, 0)

    def _enqueue_one(self) -> None:
        if self._first:
            self._first.pop()()
            return
        [sample] = self._random.choices(tuple(self._weights), weights=tuple(self._weights.values()))
        sample()

    def _echo(self) -> None:
        tasks.echo.enqueue("hello")

    def _sleep(self) -> None:
        tasks.sleep.enqueue(round(self._random.uniform(0.1, 2.0), 2))

    def _later(self) -> None:
        tasks.echo.using(delay=self._random.randint(3, 20)).enqueue("hello from the past")

    def _recover(self) -> None:
        tasks.recover.enqueue(self._random.randint(1, 2))

    def _fail(self) -> None:
        tasks.fail.enqueue("a sample of a task that cannot succeed")
