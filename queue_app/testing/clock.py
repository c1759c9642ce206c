"""A clock that stands still until a test moves it."""


class FakeClock:
    """Give it to a testing broker: `MemoryBroker(clock=clock)`. It starts on a whole bucket of every width."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """The time as Unix seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let that much time pass at once."""
        self._now += seconds
