"""dead: the tasks that failed for the last time."""

from argparse import ArgumentParser
from collections.abc import Iterator

import msgspec
from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core import codec
from queue_app.core.answers import Snapshot
from queue_app.core.errors import ForgeQueueError, TaskGone, UndecodableBody, WrongState
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb, as_json, as_time, every, known_queue, table, tried

LIMIT = 50
LONGEST_ERROR = 80


class DeadList(Verb):
    """Newest first."""

    name = "list"
    help = "list dead tasks, newest first"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", help="of this queue only")
        parser.add_argument("--limit", type=int, default=LIMIT, help=f"how many of each queue (default {LIMIT})")
        parser.add_argument("--json", action="store_true", help="one JSON document, for programs")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if not 1 <= options["limit"] <= 1000:
            raise CommandError("--limit takes 1 to 1000", returncode=2)
        dead = [
            snapshot
            for queue in _queues(broker, options["queue"])
            for snapshot in broker.list_tasks(queue, State.DEAD, limit=options["limit"]).snapshots
        ]
        if options["json"]:
            out.write(as_json([_facts(each) for each in dead]))
        elif dead:
            out.write(table(("ID", "QUEUE", "TYPE", "ATTEMPTS", "DIED", "ERROR"), [_row(each) for each in dead]))
        else:
            out.write("no dead tasks")


class DeadRetry(Verb):
    """Attempts start again from none; the errors are kept."""

    name = "retry"
    help = "put dead tasks back in line"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", metavar="id")
        parser.add_argument("--all", action="store_true", help="all that are dead now")
        parser.add_argument("--queue", help="with --all: of this queue only")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if bool(options["ids"]) == options["all"]:
            raise CommandError("give ids, or --all", returncode=2)
        if options["queue"] and not options["all"]:
            raise CommandError("--queue goes with --all: an id says its queue itself", returncode=2)
        ids = options["ids"] or [
            snapshot.id
            for queue in _queues(broker, options["queue"])
            for snapshot in list(every(broker, queue, State.DEAD))
        ]
        if not ids:
            out.write("no dead tasks")
        tried(_revive(broker, ids), out, "ready")


class Dead(Verb):
    """The common name."""

    name = "dead"
    help = "list dead tasks, or put them back in line"
    verbs = (DeadList(), DeadRetry())


def _queues(broker: Broker, queue: str | None) -> list[str]:
    return broker.queues() if queue is None else [known_queue(broker, queue)]


def _revive(broker: Broker, ids: list[str]) -> Iterator[tuple[str, ForgeQueueError | None]]:
    for task_id in ids:
        try:
            snapshot = broker.get(task_id)
            if snapshot.state is not State.DEAD:
                raise WrongState(task_id, snapshot.state)
            broker.revive(task_id)
        except (TaskGone, WrongState) as error:
            yield task_id, error
        else:
            yield task_id, None


def _row(snapshot: Snapshot) -> tuple[object, ...]:
    died = as_time(snapshot.at)
    try:
        task = codec.decode(snapshot.body)
    except UndecodableBody:
        return snapshot.id, snapshot.queue, "?", 0, died, f"cannot decode: {snapshot.problem:.{LONGEST_ERROR}}"
    error = task.last_error
    text = f"{error.type}: {error.message}".replace("\n", " ") if error else "-"
    return snapshot.id, snapshot.queue, task.task_type, task.attempts, died, text[:LONGEST_ERROR]


def _facts(snapshot: Snapshot) -> dict[str, object]:
    facts: dict[str, object] = {"id": snapshot.id, "queue": snapshot.queue, "died_at": snapshot.at}
    try:
        facts["task"] = msgspec.to_builtins(codec.decode(snapshot.body))
    except UndecodableBody as error:
        facts["problem"] = str(error)
    return facts
