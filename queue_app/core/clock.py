"""Time is the store's. This is what a store without a clock of its own uses."""

import time
from typing import Protocol


class Clock(Protocol):
    """Something that tells the time as Unix seconds."""

    def now(self) -> float: ...


class SystemClock:
    """The machine's wall clock."""

    def now(self) -> float:
        return time.time()
