"""Recovery: what a dead runner held goes back to the store, each task as it deserves, and its names are closed."""

import logging
from functools import partial

from queue_app.brokers.base import Broker
from queue_app.core.lease import Claimed
from queue_app.core.outcomes import Outcome
from queue_app.worker.batch import CANCELLED
from queue_app.worker.crash import HARD_TIME_LIMIT, RUNNER_DIED, cancelled, failed, outcomes_of
from queue_app.worker.crew import Crew, Member
from queue_app.worker.loop import Desk, Loop
from queue_app.worker.outlook import Outlook

REST_SECONDS = 60.0
AGAIN_SECONDS = 1.0
"""When the store has refused something that is to be handed back."""

logger = logging.getLogger("forgequeue.worker")


class Recovery(Loop):
    """Sleeps until it is called. A store that does not answer is waited out: nothing of the dead is forgotten."""

    def __init__(self, broker: Broker, crew: Crew, outlook: Outlook, desk: Desk) -> None:
        super().__init__("recovery", desk)
        self._broker = broker
        self._crew = crew
        self._outlook = outlook
        crew.call_recovery = self.nudge

    def run_once(self) -> float:
        self._crew.handback.deliver()
        for member in self._crew.dead:
            self._recover(member)
            self._crew.buried(member)
        return AGAIN_SECONDS if self._crew.handback.queues else REST_SECONDS

    def _recover(self, member: Member) -> None:
        """In every queue: a slot may have claimed from another one just before it could write that down."""
        if not self._outlook.knows_the_time:
            self._outlook.told(self._broker.now())
        views = {holder: seat.view() for holder, seat in member.holders()}
        running = sum(view is not None and view.is_running for view in views.values())
        broken_off = partial(self._broken_off, member, running)
        for queue in self._crew.options.queue_names:
            held = self._broker.held(queue, list(views))
            outcomes = [
                outcome
                for holder, (its, claimed) in held.items()
                for outcome in outcomes_of(views[holder], its, claimed, broken_off)
            ]
            self._broker.abandon(queue, list(views), outcomes)
            if held:
                self._broker.ring(queue)
                self._say(member, queue, outcomes, sum(len(claimed) for _, claimed in held.values()))

    def _say(self, member: Member, queue: str, outcomes: list[Outcome], held: int) -> None:
        logger.warning(
            "handed back what a runner held name=%s queue=%s tasks=%d settled=%d released=%d",
            member.name,
            queue,
            held,
            len(outcomes),
            held - len(outcomes),
        )

    def _broken_off(self, member: Member, running: int, claimed: Claimed) -> Outcome | None:
        """Only what its runner died of counts; a neighbour of a culprit is released."""
        reason = member.culprits.get(claimed.lease.task_id)
        at = self._outlook.store_now()
        if reason == CANCELLED:
            return cancelled(claimed)
        if reason == HARD_TIME_LIMIT:
            message = "the attempt ran for longer than its hard_timeout"
            return failed(claimed, HARD_TIME_LIMIT, message, at=at, worker=member.name)
        if member.is_cut_off or member.culprits:
            return None
        among = f", one of {running} running" if running > 1 else ""
        return failed(claimed, RUNNER_DIED, f"runner died: {member.death}{among}", at=at, worker=member.name)
