"""dead: the tasks that failed for the last time."""

from argparse import ArgumentParser

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.answers import Asked, Snapshot
from queue_app.core.errors import WrongState
from queue_app.core.states import State
from queue_app.management.verbs.acting import Act
from queue_app.management.verbs.base import Options, Out, Verb, takes_json, takes_yes
from queue_app.management.verbs.changing import Delete, Retry
from queue_app.management.verbs.tasks import ListTasks, ShowTask


class _Dead(Act):
    """A change of dead tasks alone."""

    states: tuple[State, ...] = (State.DEAD,)
    chooses_states = False

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        snapshot = broker.get(task_id)
        if snapshot.state is not State.DEAD:
            raise WrongState(task_id, snapshot.state)
        return super().act(broker, task_id)


class DeadList(ListTasks):
    """Newest first."""

    help = "list dead tasks, newest first"
    examples: tuple[str, ...] = ("dead list --queue mail",)
    states: tuple[State, ...] = (State.DEAD,)


class DeadShow(ShowTask):
    """With its errors and the last traceback."""

    help = "show a dead task with its errors"
    examples: tuple[str, ...] = ("dead show 01a23184-3589-7b90-a350-0fd669832a4f",)

    def check(self, snapshot: Snapshot) -> None:
        if snapshot.state is not State.DEAD:
            raise WrongState(snapshot.id, snapshot.state)


class DeadRetry(_Dead, Retry):
    """Attempts start again from none; the errors are kept."""

    help = "put dead tasks back in line"
    examples: tuple[str, ...] = ("dead retry 01a23184-3589-7b90-a350-0fd669832a4f", "dead retry --all --queue mail")


class DeadDelete(_Dead, Delete):
    """For good."""

    help = "delete dead tasks for good"
    examples: tuple[str, ...] = ("dead delete 01a23184-3589-7b90-a350-0fd669832a4f",)


class DeadPurge(Verb):
    """All of them at once."""

    name = "purge"
    help = "delete all dead tasks of a queue for good"
    examples: tuple[str, ...] = ("dead purge mail", "dead purge mail --yes")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queue", help="the queue")
        takes_yes(parser)
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if not options["queue"]:
            raise CommandError("give a queue", returncode=2)
        DeadDelete().run(broker, {**options, "ids": [], "all": True}, out)


class Dead(Verb):
    """The common name."""

    name = "dead"
    help = "list, show, retry or delete dead tasks"
    verbs = (DeadList(), DeadShow(), DeadRetry(), DeadDelete(), DeadPurge())
