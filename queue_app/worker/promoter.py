"""Promotes: scheduled and retrying tasks whose time has come join the line.

While a slot waits, its wait ends when the next task falls due, and it promotes by itself. This duty is for a worker
whose slots are all busy.
"""

from collections.abc import Callable, Sequence

from queue_app.brokers.base import Broker
from queue_app.core.errors import StoreRefused
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.outlook import Outlook

PROMOTE_EVERY_SECONDS = 1.0


class Promoter(Loop):
    """Looks each second while nobody waits. A queue of which the store just said that nothing is due costs no call."""

    def __init__(
        self,
        broker: Broker,
        queues: Sequence[str],
        outlook: Outlook,
        desk: Desk,
        *,
        somebody_waits: Callable[[], bool],
    ) -> None:
        super().__init__("promoter", desk)
        self._broker = broker
        self._queues = queues
        self._outlook = outlook
        self._somebody_waits = somebody_waits

    def run_once(self) -> float:
        """Promote what is due or may be; at once again while there is more."""
        if self._somebody_waits():
            return PROMOTE_EVERY_SECONDS
        stale = [queue for queue in self._queues if self._outlook.age(queue) >= PROMOTE_EVERY_SECONDS]
        more = [self._promote(queue) for queue in self._queues if queue in stale or self._outlook.is_due(queue)]
        return 0.0 if any(more) else PROMOTE_EVERY_SECONDS

    def promote_due(self, queues: Sequence[str]) -> list[str]:
        """Promote one slice of each queue that is known to have something due. Returns which."""
        due = [queue for queue in queues if self._outlook.is_due(queue)]
        for queue in due:
            self._promote(queue)
        return due

    def _promote(self, queue: str) -> bool:
        try:
            moved = self._broker.promote(queue)
        except StoreRefused as error:
            self._desk.complaints.refused(self.name, queue, error)
            return False
        self._outlook.promoted(queue, moved.next_at)
        return moved.more
