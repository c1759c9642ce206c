"""A runner: slots, and what they share. It runs tasks; it renews no lease and looks after no queue."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from queue_app.brokers.base import Broker
from queue_app.core import codec
from queue_app.core.answers import Beat
from queue_app.core.errors import ForgeQueueError, UndecodableBody
from queue_app.core.outcomes import Outcome
from queue_app.worker.attempt import Attempts
from queue_app.worker.batch import CANCELLED, Batch
from queue_app.worker.board import Seat
from queue_app.worker.burst import Burst
from queue_app.worker.handback import Handback
from queue_app.worker.handling import Find
from queue_app.worker.heart import Holdings
from queue_app.worker.lane import Lane
from queue_app.worker.loop import Desk
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outage import Retries
from queue_app.worker.outlook import Outlook
from queue_app.worker.promoter import Promoter
from queue_app.worker.slot import Slot
from queue_app.worker.turns import Turns
from queue_app.worker.waiter import LULL_LOOKS, Waiter
from queue_app.worker.watch import Watch

logger = logging.getLogger("forgequeue.worker")


class Runner:
    """Everything of a worker that touches user code."""

    def __init__(
        self,
        broker: Broker,
        options: WorkerOptions,
        desk: Desk,
        *,
        find: Find,
        outlook: Outlook,
        promoter: Promoter,
        all_idle: Callable[[], None],
        seats: Sequence[Seat] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = options.name
        self._broker = broker
        self._options = options
        self._clock = clock
        self.is_draining = False
        self._turns = turns = Turns(options.queues, strict=options.strict, clock=clock)
        self.waiter: Waiter | Burst
        if options.burst:
            self.waiter = Burst(options.queue_names, promoter, slots=options.concurrency, all_idle=all_idle)
        else:
            self.waiter = Waiter(
                broker,
                turns,
                outlook,
                promoter,
                longest_seconds=options.longest_wait_seconds,
                lull_looks=len(options.queues) if options.foreign_producers else LULL_LOOKS,
                refused=lambda queue, error: desk.complaints.refused("waiter", queue, error),
            )
        self.lane = Lane()
        self.attempts = Attempts(
            find, outlook, self.lane, worker=options.name, log_each=options.log_each_task, clock=clock
        )
        self.slots = [
            Slot(
                number,
                broker,
                desk,
                options,
                turns=turns,
                waiter=self.waiter,
                outlook=outlook,
                attempts=self.attempts,
                paused=self.paused,
                seat=seats[number] if seats else None,
                clock=clock,
            )
            for number in range(options.concurrency)
        ]
        self.handback = Handback(broker, desk)
        self.watch = Watch(self.slots, self.handback, desk, clock=clock)

    # --- from start to end --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to claim."""
        self.watch.start()
        for slot in self.slots:
            slot.start()

    @property
    def quiet(self) -> set[str]:
        """Reasons to claim nothing for now; what runs goes on. Whoever has one adds it and takes it away."""
        return self._turns.quiet

    def drain(self) -> None:
        """Claim no more, hand back what has not been started, and let each slot end with what it runs."""
        self.is_draining = True
        for slot in self.slots:
            slot.drain()
        self.waiter.close()
        for slot in self.slots:
            self.handback.add(slot.hand_over())
        self.watch.nudge()

    @property
    def is_done(self) -> bool:
        """Whether all is delivered and no slot has anything to do. One that waits at the store does not count."""
        return not self.handback.queues and not any(
            slot.is_alive and not self.waiter.is_at_store(slot) and not slot.is_asking_in_vain for slot in self.slots
        )

    @property
    def is_asking_in_vain(self) -> bool:
        """Whether some claim was never answered: what it may have claimed is to be released."""
        return any(slot.is_alive and slot.is_asking_in_vain for slot in self.slots)

    @property
    def is_stuck(self) -> bool:
        """Whether a handler still runs, on a thread that nobody can end."""
        return any(slot.is_alive and slot.running is not None for slot in self.slots)

    def abandon(self, timeout_seconds: float) -> bool:
        """Deliver what is finished, release what is not, and close the names of the slots. False when it cannot be."""
        self.watch.stop()
        for slot in self.slots:
            slot.stop_running()
        # On a thread: the store may not answer, and whoever waits for us does not wait for ever.
        done = threading.Event()
        deadline = time.monotonic() + timeout_seconds
        threading.Thread(target=self._abandon, args=(done, deadline), name="forgequeue-abandon", daemon=True).start()
        return done.wait(timeout_seconds)

    def stop(self) -> None:
        """Let go of everything but the threads that cannot be ended."""
        self.watch.stop()
        for slot in self.slots:
            slot.stop()
        self.waiter.leave()
        self.lane.close()

    def _abandon(self, done: threading.Event, deadline: float) -> None:
        outcomes: dict[str, list[Outcome]] = {queue: [] for queue in self.held_queues()}
        for outcome in [each for slot in self.slots for each in slot.undelivered()]:
            outcomes.setdefault(outcome.lease.queue, []).append(outcome)
        retries = Retries()
        while time.monotonic() < deadline:
            try:
                self._let_go(outcomes)
            except ForgeQueueError as error:
                logger.warning("store unavailable duty=abandon error=%s", error)
                time.sleep(retries.failed())
            else:
                done.set()
                return

    def _let_go(self, outcomes: dict[str, list[Outcome]]) -> None:
        # First: what waits there is finished, or released in its old order, and abandon would release it all.
        self.handback.deliver()
        for queue, theirs in outcomes.items():
            self._broker.abandon(queue, [slot.holder for slot in self.slots], theirs)
            # Once more: the first ring may have woken our own waiter, which claims nothing any more.
            self._broker.ring(queue)

    @property
    def is_waiting(self) -> bool:
        """Whether some slot waits at the store now."""
        return self.waiter.is_waiting

    # --- for the heart ------------------------------------------------------------------------------------------------

    def held_queues(self) -> list[str]:
        """The queues in which some slot holds a task or may, and those with something to be handed back."""
        held = {queue for slot in self.slots for queue in slot.held_queues()}
        return sorted(held.union(self.handback.queues))

    def holdings(self, queue: str) -> Holdings:
        """All slots, each with the batch of `queue` that it works on."""
        return [
            (slot.holder, batch if (batch := slot.batch) is not None and batch.queue == queue else None)
            for slot in self.slots
        ]

    def renewed(self, holdings: Holdings, beat: Beat, until: float) -> None:
        """Move the deadlines here too; tell handlers whose lease is lost, or that somebody asked to cancel."""
        for slot, (holder, batch) in zip(self.slots, holdings, strict=True):
            if batch is None:
                continue
            held = beat.held.get(holder)
            slot.renewed(batch, held, until)
            for task_id in beat.cancels.intersection(held.task_ids if held is not None else ()):
                slot.mark(batch, task_id, CANCELLED)

    def has_prefetched(self, queue: str) -> bool:
        """Whether a task of `queue` waits in some slot."""
        return any(batch.pending for batch in self._batches() if batch.queue == queue)

    def paused(self, queue: str) -> None:
        """Hand back what has not been started of a queue that was paused."""
        for slot in self.slots:
            batch = slot.batch
            if batch is not None and batch.queue == queue:
                self.handback.add(slot.hand_over())
        if self.handback.queues:
            self.watch.nudge()

    # --- for the announcer --------------------------------------------------------------------------------------------

    def running(self) -> Sequence[tuple[str, str, float]]:
        """Of each busy slot: task id, task type, seconds since its start."""
        now = self._clock()
        busy = [(slot.running, slot.started_at) for slot in self.slots]
        return [
            (claimed.lease.task_id, _type_of(claimed.body), round(now - started_at, 3))
            for claimed, started_at in busy
            if claimed is not None
        ]

    def prefetched(self) -> int:
        """Tasks that are claimed and not started."""
        return sum(len(batch.pending) for batch in self._batches())

    def counts(self) -> tuple[int, int]:
        """Attempts that ended, and how many of them failed."""
        return sum(slot.processed for slot in self.slots), sum(slot.failed for slot in self.slots)

    def _batches(self) -> list[Batch]:
        return [batch for slot in self.slots if (batch := slot.batch) is not None]


def _type_of(body: bytes) -> str:
    try:
        return codec.decode(body).task_type
    except UndecodableBody:
        return ""
