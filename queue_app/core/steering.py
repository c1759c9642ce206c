"""How a handler says what should become of its attempt: it raises one of these."""

from datetime import timedelta

from queue_app.core.backoff import bounded_delay
from queue_app.core.errors import ForgeQueueError


class Retry(ForgeQueueError):
    """The attempt failed, as its handler knows: it counts, and the next one comes `after` seconds.

    Without `after` the task's backoff decides. When the budget is spent the task is dead all the same.
    """

    def __init__(self, after: float | timedelta | None = None, reason: str = "") -> None:
        self.after = None if after is None else _seconds(after)
        self.reason = reason
        super().__init__(after, reason)

    def __str__(self) -> str:
        return self.reason or ("retry" if self.after is None else f"retry after {self.after:g} s")


class Snooze(ForgeQueueError):
    """It is too early: run the task again `after` seconds. The attempt does not count."""

    def __init__(self, after: float | timedelta, reason: str = "") -> None:
        self.after = _seconds(after)
        self.reason = reason
        super().__init__(after, reason)

    def __str__(self) -> str:
        return self.reason or f"snooze for {self.after:g} s"


class Reject(ForgeQueueError):
    """No further attempt can help: the attempt counts, and the task is dead at once."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return self.reason or "rejected"


def _seconds(after: float | timedelta) -> float:
    return bounded_delay(after.total_seconds() if isinstance(after, timedelta) else after, "after")
