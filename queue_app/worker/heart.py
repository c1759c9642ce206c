"""The heart: renews the leases of all that the slots hold, and brings back what the store says of them.

It asks by the names of the slots, one call a queue, and the store answers with what each of them holds: there is no
list here that could be wrong. What the store no longer counts as ours is lost, and its handler is told to stop; what
somebody asked to cancel likewise. The runner takes both.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from queue_app.brokers.base import Broker
from queue_app.core.answers import Beat
from queue_app.core.errors import StoreRefused
from queue_app.worker.loop import Desk, Loop

Holdings: TypeAlias = Sequence[tuple[str, Any]]
"""The name of each slot, with what the roster knows of the batch that it works on."""


class Roster(Protocol):
    """The slots, and where they hold something."""

    def held_queues(self) -> Sequence[str]:
        """The queues in which some slot holds a task or may."""
        ...

    def holdings(self, queue: str) -> Holdings:
        """The holders of all slots, each with the batch of `queue` it works on."""
        ...

    def renewed(self, holdings: Holdings, beat: Beat, until: float) -> None:
        """The store has answered about these holdings; what is still held is so until `until`, monotonic."""
        ...

    def has_prefetched(self, queue: str) -> bool:
        """Whether a task of `queue` waits in some slot."""
        ...

    def paused(self, queue: str) -> None:
        """Nothing of `queue` may be started any more."""
        ...


class Heart(Loop):
    """Beats each third of a lease. While no slot holds anything it has nothing to renew, and makes no call."""

    def __init__(
        self,
        broker: Broker,
        roster: Roster,
        desk: Desk,
        *,
        lease_seconds: float,
        beat_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("heart", desk, clock=clock, longest_delay=beat_seconds)
        self._broker = broker
        self._roster = roster
        self._lease_seconds = lease_seconds
        self._beat_seconds = beat_seconds

    def run_once(self) -> float:
        """One beat for each queue in which something is held."""
        began = self._clock()
        for queue in self._roster.held_queues():
            try:
                self._beat(queue)
            except StoreRefused as error:
                self._desk.complaints.refused(self.name, queue, error)
        return max(self._beat_seconds - (self._clock() - began), self._beat_seconds / 10)

    def _beat(self, queue: str) -> None:
        holdings = self._roster.holdings(queue)
        # Counted from before the call: the store's deadline is later than this, never earlier.
        until = self._clock() + self._lease_seconds
        holders = [holder for holder, _ in holdings]
        beat = self._broker.heartbeat(queue, holders, lease_seconds=self._lease_seconds)
        self._roster.renewed(holdings, beat, until)
        if self._roster.has_prefetched(queue):
            # A claim would say so too, but the slots may be busy for long.
            stats = self._broker.stats(queue)
            if stats.paused or stats.paused_by_all:
                self._roster.paused(queue)
