"""Reclaims: tasks whose worker stopped renewing its lease are retried, or dead when that was their last attempt."""

from collections.abc import Sequence

from queue_app.brokers.base import Broker
from queue_app.core import policy
from queue_app.core.errors import StoreRefused
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Outcome
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.outlook import Outlook

LONGEST_PAUSE_SECONDS = 5.0
SHORTEST_PAUSE_SECONDS = 0.05
LONGEST_TRUST_SECONDS = 10.0
"""With a longer lease than this another worker's may be much shorter."""


class Reclaimer(Loop):
    """Looks when the first lease is known to run out, and where the store's last word is older than a lease.

    What was claimed since that word cannot have expired yet. So an idle worker, whose waits end with a fresh answer,
    makes no call here at all.
    """

    def __init__(
        self, broker: Broker, queues: Sequence[str], outlook: Outlook, desk: Desk, *, lease_seconds: float
    ) -> None:
        super().__init__("reclaimer", desk)
        self._broker = broker
        self._queues = queues
        self._outlook = outlook
        self._pause_seconds = min(LONGEST_PAUSE_SECONDS, lease_seconds / 2)
        # A tenth more: an idle worker's round of its queues takes as long as a lease, and should come first.
        self._trust_seconds = 1.1 * min(LONGEST_TRUST_SECONDS, lease_seconds)

    def run_once(self) -> float:
        """Reclaim what has expired or may have; at once again while there is more."""
        if not self._outlook.knows_the_time:
            self._outlook.told(self._broker.now())
        more = [self._reclaim(queue) for queue in self._queues if self._is_worth_a_look(queue)]
        if any(more):
            return 0.0
        return max(min(self._seconds_to_next(queue) for queue in self._queues), SHORTEST_PAUSE_SECONDS)

    def _is_worth_a_look(self, queue: str) -> bool:
        return self._outlook.expires_in(queue) == 0.0 or self._outlook.age(queue) >= self._trust_seconds

    def _seconds_to_next(self, queue: str) -> float:
        expires_in = self._outlook.expires_in(queue)
        return self._pause_seconds if expires_in is None else min(self._pause_seconds, expires_in)

    def _reclaim(self, queue: str) -> bool:
        try:
            moved = self._broker.reclaim(queue, self._decide)
        except StoreRefused as error:
            self._desk.complaints.refused(self.name, queue, error)
            return False
        self._outlook.reclaimed(queue, moved.next_at)
        return moved.more

    def _decide(self, claimed: Claimed) -> Outcome:
        return policy.after_lost_worker(claimed, at=self._outlook.store_now())
