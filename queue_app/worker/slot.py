"""A slot: a thread that exchanges what it has finished for new work, runs that, and exchanges again.

An exchange is repeated, the same in every word, until the store answers it: then a reply that was lost costs nothing,
and an outcome is never dropped. One that the store refuses is put aside with its queue, which is left alone for a
while; the slot goes on with the other queues.
"""

import contextvars
import logging
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from queue_app.brokers.base import Broker
from queue_app.core import ids
from queue_app.core.answers import Exchange, Held, Settled, Standing
from queue_app.core.errors import StoreRefused
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Outcome, Released, Succeeded
from queue_app.worker import hygiene
from queue_app.worker.batch import LOST, SHUTDOWN, Batch
from queue_app.worker.batching import batch_size
from queue_app.worker.board import NoSeat, Seat
from queue_app.worker.limit import SoftLimit
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outlook import Outlook
from queue_app.worker.turns import Turns

HELD_UP_SECONDS = 0.25
"""What waits behind a task that has run for longer than this is handed back."""
DRAINING_PAUSE_SECONDS = 0.1

logger = logging.getLogger("forgequeue.worker")


class Call:
    """One exchange, and when it was first sent."""

    __slots__ = ("holder", "outcomes", "queue", "sent_at", "token", "want")

    def __init__(self, queue: str, outcomes: list[Outcome], *, holder: str = "", want: int = 0) -> None:
        self.queue = queue
        self.outcomes = outcomes
        self.holder = holder
        self.token = ids.new_token() if want else ""
        self.want = want
        self.sent_at: float | None = None

    def queues(self) -> set[str]:
        """Its own, and those of its outcomes."""
        return {self.queue, *(outcome.lease.queue for outcome in self.outcomes)}

    def split(self) -> "list[Call]":
        """One call for each queue: of several that travel together the store may refuse one."""
        parts: dict[str, list[Outcome]] = {queue: [] for queue in self.queues()}
        for outcome in self.outcomes:
            parts[outcome.lease.queue].append(outcome)
        self.outcomes = parts.pop(self.queue)
        return [Call(queue, outcomes) for queue, outcomes in parts.items()] + [self]


class Stopper(Protocol):
    """A running handler that can be told to stop."""

    lease: Lease

    def stop(self, reason: str) -> None:
        """Tell it; it may go on all the same."""
        ...


class Runs(Protocol):
    """What makes an outcome of a task."""

    def run(self, claimed: Claimed, batch: Batch, slot: "Slot", now: float) -> Outcome | None:
        """Run it; None when there is nobody left to tell."""
        ...


class Waits(Protocol):
    """Where a slot waits when there is nothing to do."""

    def wait(self, slot: "Slot", at_most: float | None = None) -> list[str]:
        """The queues to look at; none when there is nothing more to wait for, or the time is over."""
        ...

    def hand_on(self, slot: "Slot") -> None:
        """The slot has something to run."""
        ...


class Slot(Loop):
    """Holds one batch at a time, under a name of its own in the store."""

    def __init__(
        self,
        number: int,
        broker: Broker,
        desk: Desk,
        options: WorkerOptions,
        *,
        turns: Turns,
        waiter: Waits,
        outlook: Outlook,
        attempts: Runs,
        paused: Callable[[str], None],
        seat: Seat | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(f"slot-{number}", desk, clock=clock)
        self.holder = holder_name(options.name, number)
        self.seat: Seat = seat or NoSeat()
        """Where others read what it does."""
        self._number = number
        self.batch: Batch | None = None
        self.running: Claimed | None = None
        self.started_at = 0.0
        self.context = contextvars.Context()
        """Attempts run in copies of it."""
        self.stopper: Stopper | None = None
        self.limit: SoftLimit | None = None
        """Of the handler that runs, where it has one."""
        self.outcomes: deque[Outcome] = deque()
        """Finished and not yet on their way: whoever pops one has to deliver it."""
        self.is_draining = False
        self.processed = 0
        self.failed = 0
        self._broker = broker
        self._options = options
        self._turns = turns
        self._waiter = waiter
        self._outlook = outlook
        self._attempts = attempts
        self._paused = paused
        self._size = batch_size(options.batch_size)
        self._call: Call | None = None
        self._refused: list[Call] = []
        self._renamed = 0
        self._look: list[str] | None = None

    # --- on the slot's own thread -------------------------------------------------------------------------------------

    def run_once(self) -> float:
        """Exchange and run what came; with nothing to do, wait until there may be something."""
        look, self._look = self._look, None
        if self.cycle(look):
            return 0.0
        if self.is_draining:
            self.is_stopping = not self._undelivered()
            return DRAINING_PAUSE_SECONDS
        # What was refused is tried again when its queue has been left alone for long enough.
        at_most = min((self._turns.set_aside_for(call.queue) for call in self._refused), default=None)
        self._look = self._waiter.wait(self, at_most)
        return 0.0

    def cycle(self, look: Collection[str] | None = None) -> bool:
        """Deliver, claim from the first queue (of `look`, or of all) that has work, and run it. False when none had."""
        if self.running is not None:
            self._go_on_after_defect()
            return True
        tried = set() if look is None else set(self._options.queue_names).difference(look)
        while (call := self._next_call(tried)) is not None:
            answer = self._make(call)
            if answer is None:
                tried.add(call.queue)
            elif answer.claimed:
                self._work(call, answer)
                return True
            elif answer.standing is Standing.CLOSED:
                self._take_new_name("it was abandoned")
            elif call.want and answer.standing is not Standing.MORE:
                self._found_nothing(call, answer.standing)
                tried.add(call.queue)
        return False

    def began(self) -> None:
        super().began()
        self.context = hygiene.begin_thread()

    def _run(self) -> None:
        try:
            super()._run()
        finally:
            self._waiter.hand_on(self)
            hygiene.end_thread()

    # --- calls --------------------------------------------------------------------------------------------------------

    def _next_call(self, tried: Collection[str]) -> Call | None:
        if self._call is not None:
            return self._call
        for call in self._refused:
            if not self._turns.is_set_aside(call.queue):
                self._call = call
                self._refused.remove(call)
                return call
        choice = None if self.is_draining else self._turns.choose(tried, self._size.want())
        if choice is not None:
            queue, want = choice
            return self._begun(Call(queue, list(self.outcomes), holder=self.holder, want=want))
        if self.outcomes:
            return self._begun(Call(self.outcomes[0].lease.queue, list(self.outcomes)))
        return None

    def _begun(self, call: Call) -> Call:
        # In this order: whoever asks which queues this slot holds something of sees the call, the batch, or both.
        self._call = call
        self.outcomes.clear()
        self.batch = None
        return call

    def _make(self, call: Call) -> Exchange | None:
        """The store's answer; None when it refuses. Raises StoreUnavailable: then the call is still to be made."""
        if call.sent_at is None:
            call.sent_at = self._clock()
        try:
            answer = self._broker.exchange(
                call.queue,
                holder=call.holder,
                token=call.token,
                outcomes=call.outcomes,
                want=call.want,
                lease_seconds=self._options.lease_seconds,
            )
        except StoreRefused as error:
            self._put_aside(call, error)
            return None
        self._call = None
        self._answered()
        if not answer.claimed:
            self.seat.clear()
        self._outlook.saw(call.queue, answer)
        if answer.settled:
            self._report(call, answer.settled)
        return answer

    def _put_aside(self, call: Call, error: StoreRefused) -> None:
        parts = call.split()
        self._refused += parts
        self._call = None
        # Of several queues each is asked by itself, at once, to find out which one it is.
        if len(parts) == 1:
            self._turns.set_aside(call.queue)
            self._desk.complaints.refused(self.name, call.queue, error)

    def _found_nothing(self, call: Call, standing: Standing) -> None:
        self._turns.took(call.queue, call.want, 0)
        if standing is Standing.PAUSED:
            self._paused(call.queue)

    def _take_new_name(self, reason: str) -> None:
        """The old one is closed for good, or holds something that nobody should renew."""
        old = self.holder
        self._renamed += 1
        self.holder = holder_name(self._options.name, self._number, self._renamed)
        self.seat.rename(self._renamed)
        logger.warning("holder goes on under another name holder=%s new=%s reason=%s", old, self.holder, reason)

    def _report(self, call: Call, settled: dict[str, Settled]) -> None:
        for outcome in call.outcomes:
            if settled.get(outcome.lease.task_id) is Settled.LOST:
                say_dropped(outcome.lease, type(outcome).__name__)

    def _undelivered(self) -> bool:
        return bool(self._call or self._refused or self.outcomes)

    # --- work ---------------------------------------------------------------------------------------------------------

    def _work(self, call: Call, answer: Exchange) -> None:
        sent_at = call.sent_at or self._clock()
        until = sent_at + self._options.lease_seconds
        batch = Batch(call.queue, call.token, answer.claimed, until=until, asked=call.want)
        self.seat.take(batch)
        self.batch = batch
        self._waiter.hand_on(self)
        self._turns.took(call.queue, call.want, len(answer.claimed))
        if self.is_draining:
            # Claimed by a call that had to be repeated.
            self.outcomes.extend(self._given_back(batch))
            return
        self._run_all(batch)

    def _run_all(self, batch: Batch) -> None:
        pending, run, clock, seat = batch.pending, self._attempts.run, self._clock, self.seat
        began = now = clock()
        count = 0
        while pending:
            try:
                claimed = pending.popleft()
            except IndexError:
                # Handed back between the two looks.
                break
            index = batch.begun
            batch.begun += 1
            if not seat.start(index, now):
                continue
            self.started_at = now
            self.running = claimed
            if now < batch.until and not batch.marks:
                outcome = run(claimed, batch, self, now)
            else:
                outcome = self._run_with_care(claimed, batch, now)
            if outcome is not None:
                self.outcomes.append(outcome)
            seat.ended(index, plainly=type(outcome) is Succeeded and not outcome.body)
            count += 1
            now = clock()
        self.running = None
        self.processed += count
        seat.count(self.processed, self.failed)
        self._size.ran(count, now - began, asked=batch.asked)

    def _go_on_after_defect(self) -> None:
        """A defect of ours broke the batch off. What comes after that task runs; the task itself waits for its lease to
        run out, which needs a name that nobody renews."""
        self.running = None
        if self.batch is not None:
            self._run_all(self.batch)
        self._take_new_name("a defect broke its batch off")

    def _run_with_care(self, claimed: Claimed, batch: Batch, now: float) -> Outcome | None:
        mark = batch.marks.get(claimed.lease.task_id)
        if mark is None and now < batch.until:
            return self._attempts.run(claimed, batch, self, now)
        if mark == LOST:
            say_dropped(claimed.lease, "unstarted")
            return None
        # One that somebody asked to cancel ends cancelled when it is released; the store sees to it.
        return Released(lease=claimed.lease)

    # --- for the others of this process -------------------------------------------------------------------------------

    def drain(self) -> None:
        """Finish what runs, deliver, and end."""
        self.is_draining = True
        self.nudge()

    @property
    def is_asking_in_vain(self) -> bool:
        """Whether all it has to do is a claim that the store does not answer: nobody's work would be lost with it."""
        call = self._call
        return (
            self._retries.failing
            and self.running is None
            and not self.outcomes
            and not self._refused
            and (call is None or not call.outcomes)
        )

    def held_queues(self) -> set[str]:
        """Where it holds something, or may."""
        queues: set[str] = set()
        call, batch = self._call, self.batch
        for each in [*self._refused, *([call] if call else [])]:
            queues |= each.queues()
        if batch is not None:
            queues.add(batch.queue)
        return queues

    def renewed(self, batch: Batch, held: Held | None, until: float) -> None:
        """The store has said what this slot held at a moment after `batch` was claimed."""
        lost = batch.lost(held, self.running)
        if batch is not self.batch:
            # Delivered meanwhile: nothing follows from it.
            return
        if batch.is_held(held):
            batch.until = until
        for task_id in lost:
            self.mark(batch, task_id, LOST)

    def mark(self, batch: Batch, task_id: str, reason: str) -> None:
        """This task should stop, or not start."""
        batch.marks[task_id] = reason
        self.tell(task_id, batch.token, reason)

    def tell(self, task_id: str, token: str, reason: str) -> None:
        """Tell the handler of this task that it should stop, if it runs and can be told."""
        stopper = self.stopper
        if stopper is not None and stopper.lease.task_id == task_id and stopper.lease.token == token:
            stopper.stop(reason)

    def look_after(self, now: float) -> list[Outcome]:
        """Tell a handler whose time is up or whose lease has run out; take from behind one that is slow what others
        should have."""
        batch, running, limit = self.batch, self.running, self.limit
        if batch is None or running is None:
            return []
        self._hear(batch)
        if limit is not None:
            limit.look(now)
        if now >= batch.until:
            self.tell(running.lease.task_id, batch.token, LOST)
        return self.hand_over() if now - self.started_at > HELD_UP_SECONDS else []

    def hand_over(self) -> list[Outcome]:
        """What waits behind the running task: finished ones to be delivered, and the others to be released."""
        batch = self.batch
        waiting = self._given_back(batch) if batch is not None else []
        return [*popped(self.outcomes), *waiting]

    def _given_back(self, batch: Batch) -> list[Outcome]:
        """What has not been started, to be released, unless whoever looks on has recalled it."""
        seat = self.seat
        return [
            Released(lease=claimed.lease) for claimed in batch.recall() if seat.give_back(batch.claimed.index(claimed))
        ]

    def _hear(self, batch: Batch) -> None:
        """What somebody outside this process has learnt about the batch."""
        until, marks = self.seat.news(batch)
        batch.until = max(batch.until, until)
        for index, reason in marks:
            task_id = batch.claimed[index].lease.task_id
            if task_id not in batch.marks:
                self.mark(batch, task_id, reason)

    def undelivered(self) -> list[Outcome]:
        """Every outcome that the store has not confirmed yet."""
        calls = [*self._refused, *([self._call] if self._call else [])]
        return [*(outcome for call in calls for outcome in call.outcomes), *popped(self.outcomes)]

    def stop_running(self) -> None:
        """The worker ends now: tell the handler, and start nothing more."""
        self.stop()
        batch, running = self.batch, self.running
        if batch is not None and running is not None:
            self.mark(batch, running.lease.task_id, SHUTDOWN)


def holder_name(worker: str, number: int, renamed: int = 0) -> str:
    """What a slot is called in the store, under its first name or a further one."""
    return f"{worker}:{number}.{renamed}" if renamed else f"{worker}:{number}"


def popped(outcomes: deque[Outcome]) -> list[Outcome]:
    """All of them, each of which is then nobody else's."""
    taken: list[Outcome] = []
    try:
        while True:
            taken.append(outcomes.popleft())
    except IndexError:
        return taken


def say_dropped(lease: Lease, outcome: str) -> None:
    """A line for an attempt whose end nobody wants any more."""
    logger.warning("outcome dropped, lease lost task=%s queue=%s outcome=%s", lease.task_id, lease.queue, outcome)
