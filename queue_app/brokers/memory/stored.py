"""A task as the store holds it."""

from dataclasses import dataclass

from queue_app.core.answers import Snapshot
from queue_app.core.lease import Claimed, Lease
from queue_app.core.states import State


@dataclass(slots=True, kw_only=True)
class Stored:
    """Everything that is known of one task. It changes in place, under the store's lock."""

    id: str
    queue: str
    body: bytes
    priority: int
    state: State
    at: float | None = None
    """When it is due, its lease ends or it finished; nothing for a ready one."""
    keep_until: float | None = None
    """When the record of a finished one is past retention; None for never."""
    token: str | None = None
    """Who owns a running one."""
    mark: str = ""
    """What was asked of a running one: "cancel" or "delete"."""
    settled_by: str | None = None
    """The token of the last outcome that its owner settled, for as long as nobody else has touched the task."""
    result: bytes | None = None

    def is_past(self, now: float) -> bool:
        """Its retention is over: nobody sees it any more, and the sweeper comes for it."""
        return self.keep_until is not None and self.keep_until <= now

    def claimed(self) -> Claimed:
        """The lease of a running one, with the body."""
        return Claimed(Lease(self.id, self.queue, self.token or ""), self.body)

    def snapshot(self) -> Snapshot:
        """As `find` shows it."""
        return Snapshot(
            id=self.id,
            queue=self.queue,
            state=self.state,
            body=self.body,
            at=self.at,
            result=self.result,
            cancel_requested=bool(self.mark),
        )

    def listed(self) -> Snapshot:
        """As a list shows it: without the result, which can be large, and the mark."""
        return Snapshot(id=self.id, queue=self.queue, state=self.state, body=self.body, at=self.at)
