"""What becomes of the sample tasks, on one line of the terminal."""

import shutil
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from queue_app.core.answers import QueueStats
from queue_app.core.states import State

TERMINAL_SECONDS = 0.5
LOG_SECONDS = 5.0

STATES = (State.RUNNING, State.READY, State.SCHEDULED, State.RETRYING, State.DEAD)


def summary(queues: Iterable[QueueStats]) -> str:
    """All queues in one line: events since the engine's data began, then tasks by state now."""
    queues = list(queues)
    figures = [f"{event} {sum(queue.totals.get(event, 0) for queue in queues)}" for event in ("enqueued", "succeeded")]
    figures += [f"{state} {sum(queue.counts.get(state, 0) for queue in queues)}" for state in STATES]
    return "  ".join(figures)


class StatusLine:
    """A line that is written over on a terminal, and written every few seconds elsewhere."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is shown yet."""
        self.out = out
        self.clock = clock
        self.is_terminal = out.isatty()
        self.interval = TERMINAL_SECONDS if self.is_terminal else LOG_SECONDS
        self._shown_at = float("-inf")
        self._is_open = False

    @property
    def is_due(self) -> bool:
        """Time to show the line again."""
        return self.clock() - self._shown_at >= self.interval

    def show(self, text: str) -> None:
        """Replace the line, cut to the terminal's width."""
        self._shown_at = self.clock()
        if not self.is_terminal:
            self.note(text)
            return
        width = shutil.get_terminal_size().columns
        self.out.write(f"\r{text[: width - 1]}\x1b[K")
        self.out.flush()
        self._is_open = True

    def note(self, text: str) -> None:
        """Write a line that stays, below the status line."""
        if self._is_open:
            self.out.write("\n")
            self._is_open = False
        self.out.write(f"{text}\n")
        self.out.flush()
