"""The right to run one task, and the task that comes with it."""

import msgspec

from queue_app.core import codec
from queue_app.core.task import Task


class Lease(msgspec.Struct, frozen=True):
    """The right to run one task once, until a deadline that a heartbeat moves.

    `token` is what the store compares: no other claim has it. All tasks of one claim share it.
    """

    task_id: str
    queue: str
    token: str


class Claimed(msgspec.Struct, frozen=True):
    """A lease and the body as the store holds it."""

    lease: Lease
    body: bytes

    @property
    def task(self) -> Task:
        """The decoded task; UndecodableBody when it is none."""
        return codec.decode(self.body, self.lease.task_id)
