"""A worker: what does the work, and the duties that look after the queues and after what it holds."""

import logging
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from queue_app.brokers.base import Broker
from queue_app.core.errors import ForgeQueueError
from queue_app.worker.announcer import Activity, Announcer
from queue_app.worker.handling import Find
from queue_app.worker.heart import Heart, Roster
from queue_app.worker.loop import Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outlook import Outlook
from queue_app.worker.process import AT_ONCE_SECONDS, Hands, Process
from queue_app.worker.promoter import Promoter
from queue_app.worker.reclaimer import Reclaimer
from queue_app.worker.runner import Runner
from queue_app.worker.sweeper import Sweeper

logger = logging.getLogger("forgequeue.worker")


class Crew(Hands, Roster, Activity, Protocol):
    """What a worker needs of its runner, or of its runners."""

    @property
    def is_waiting(self) -> bool:
        """Whether some slot waits at the store now: then due tasks are its business."""
        ...


CrewT_co = TypeVar("CrewT_co", bound=Crew, covariant=True)


class Worker(Process, Generic[CrewT_co]):
    """Claims tasks and runs them until it is told to stop."""

    def __init__(
        self,
        broker: Broker,
        options: WorkerOptions,
        make_crew: "Callable[[Worker[CrewT_co]], CrewT_co]",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(drain_seconds=options.drain_seconds, lease_seconds=options.lease_seconds)
        self.options = options
        self.broker = broker
        self.clock = clock
        self.outlook = Outlook(clock)
        queues = options.queue_names
        self.promoter = Promoter(broker, queues, self.outlook, self, somebody_waits=lambda: self.runner.is_waiting)
        self.runner: CrewT_co = make_crew(self)
        self.heart = Heart(
            broker,
            self.runner,
            self,
            lease_seconds=options.lease_seconds,
            beat_seconds=options.beat_seconds,
            clock=clock,
        )
        self.reclaimer = Reclaimer(broker, queues, self.outlook, self, lease_seconds=options.lease_seconds)
        self.sweeper = Sweeper(broker, queues, self)
        self.announcer = Announcer(broker, self.runner, self, options, started_at=time.time())
        self.duties: list[Loop] = [self.heart, self.promoter, self.reclaimer, self.sweeper, self.announcer]

    def drains(self, reason: str) -> None:
        logger.info("worker drains name=%s reason=%s", self.options.name, reason)
        self.announcer.nudge()

    def retire(self) -> None:
        try:
            self.announcer.join(AT_ONCE_SECONDS)
            self.broker.retire(self.options.name)
        except ForgeQueueError as error:
            logger.info("could not say goodbye, the record will age error=%s", error)


def lone_worker(
    broker: Broker, options: WorkerOptions, *, find: Find, clock: Callable[[], float] = time.monotonic
) -> Worker[Runner]:
    """A worker that is one process: user code runs beside the heart, and shares its interpreter lock."""

    def make_runner(worker: Worker[Runner]) -> Runner:
        return Runner(
            broker,
            options,
            worker,
            find=find,
            outlook=worker.outlook,
            promoter=worker.promoter,
            all_idle=worker.all_idle,
            clock=clock,
        )

    return Worker(broker, options, make_runner, clock=clock)
