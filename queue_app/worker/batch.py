"""What one claim brought: the tasks that a slot holds under one token, and how long it surely does."""

from collections import deque
from typing import TypeGuard

from queue_app.core.answers import Held
from queue_app.core.lease import Claimed

CANCELLED = "cancelled"
LOST = "lost"
SHUTDOWN = "shutdown"


class Batch:
    """Whoever pops a task from `pending` owns it: the slot to start it, or whoever hands it back. There is no third
    way and no moment in between, so what was handed back is never started."""

    __slots__ = ("asked", "begun", "claimed", "marks", "number", "pending", "queue", "token", "until")

    def __init__(self, queue: str, token: str, claimed: list[Claimed], *, until: float, asked: int) -> None:
        self.queue = queue
        self.token = token
        self.claimed = claimed
        """All of it, in the order in which it is started."""
        self.pending = deque(claimed)
        self.number = 0
        """Its number on the board, where there is one."""
        self.begun = 0
        """How many the slot has popped: the place in `claimed` of the next one."""
        self.asked = asked
        """For how many tasks the claim had asked."""
        self.until = until
        """The monotonic time until which the lease surely stands: counted from before the call that moved it."""
        self.marks: dict[str, str] = {}
        """Why a task should stop, or not start: CANCELLED, LOST or SHUTDOWN, by id."""

    def recall(self) -> list[Claimed]:
        """Take away everything that has not been started, in its order."""
        taken: list[Claimed] = []
        try:
            while True:
                taken.append(self.pending.pop())
        except IndexError:
            return taken[::-1]

    def is_held(self, held: Held | None) -> TypeGuard[Held]:
        """Whether what the store says a holder holds is of this batch."""
        return held is not None and held.token == self.token

    def lost(self, held: Held | None, running: Claimed | None) -> list[str]:
        """Which of its tasks the store no longer counts as this batch's, by its answer to a heartbeat."""
        kept = set(held.task_ids) if self.is_held(held) else set()
        # A copy that is taken while the slot pops: list() of a deque is one step.
        ours = list(self.pending)
        if running is not None:
            ours.append(running)
        return [claimed.lease.task_id for claimed in ours if claimed.lease.task_id not in kept]
