"""cancel: end tasks that wait, and ask those that run to stop."""

from argparse import ArgumentParser
from collections.abc import Iterator

from queue_app.brokers.base import Broker
from queue_app.core.answers import Asked
from queue_app.core.errors import ForgeQueueError, TaskGone, WrongState
from queue_app.management.verbs.base import Options, Out, Verb, tried


class Cancel(Verb):
    """By id."""

    name = "cancel"
    help = "cancel tasks by id"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="+", metavar="id")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        tried(self._cancel(broker, options["ids"], out), out, "cancelled")

    def _cancel(self, broker: Broker, ids: list[str], out: Out) -> Iterator[tuple[str, ForgeQueueError | None]]:
        for task_id in ids:
            try:
                asked = broker.cancel(task_id)
            except (TaskGone, WrongState) as error:
                yield task_id, error
                continue
            if asked is Asked.REQUESTED:
                out.write(f"{task_id}: runs; its worker is told within a heartbeat")
            else:
                yield task_id, None
