"""Looks at the slots while handlers run, without asking the store.

What waits behind a slow task is handed back, for another slot or worker to run; a handler whose lease has run out,
since the store could not be reached to renew it, is told to stop.
"""

import time
from collections.abc import Callable, Sequence

from queue_app.worker.handback import Handback
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.slot import Slot

LOOK_EVERY_SECONDS = 0.1
IDLE_LOOK_SECONDS = 0.2


class Watch(Loop):
    """Ten looks a second at a handful of slots."""

    def __init__(
        self,
        slots: Sequence[Slot],
        handback: Handback,
        desk: Desk,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__("watch", desk, clock=clock)
        self._slots = slots
        self._handback = handback

    def run_once(self) -> float:
        now = self._clock()
        is_busy = False
        for slot in self._slots:
            if slot.running is not None:
                is_busy = True
                self._handback.add(slot.look_after(now))
        self._handback.deliver()
        return LOOK_EVERY_SECONDS if is_busy else IDLE_LOOK_SECONDS
