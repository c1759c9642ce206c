"""tasks: look at single tasks, in any state."""

from argparse import ArgumentParser
from collections.abc import Sequence

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.answers import Snapshot
from queue_app.core.names import valid_queue, valid_task_id
from queue_app.core.states import State
from queue_app.management.verbs.acting import states_of
from queue_app.management.verbs.base import Options, Out, Verb, chosen_queues, takes_json
from queue_app.management.verbs.facts import HEADINGS, described, facts, row, type_of
from queue_app.management.verbs.showing import as_json, table

LIMIT = 50
MOST = 10_000
EXAMINED = 5_000
"""How many tasks of a queue and a state are looked at for `--type`: only queue and state are indexed."""
PAGE = 500


class ListTasks(Verb):
    """Of all queues and states, unless told otherwise."""

    name = "list"
    help = "list tasks"
    examples: tuple[str, ...] = (
        "tasks list --queue mail --state dead,retrying",
        "tasks list --type shop.tasks.send_receipt --limit 200",
        "tasks list --queue mail --state ready --cursor 50",
    )
    states: tuple[State, ...] = tuple(State)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", help="of this queue only")
        if len(self.states) > 1:
            parser.add_argument("--state", help="in these states only, with commas between them")
        parser.add_argument("--type", dest="task_type", help="of this task type only")
        parser.add_argument("--limit", type=int, default=LIMIT, help=f"how many at most (default {LIMIT})")
        parser.add_argument("--cursor", help="go on where a list of one queue and one state ended")
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if not 1 <= options["limit"] <= MOST:
            raise CommandError(f"--limit takes 1 to {MOST:,}", returncode=2)
        states = states_of(options["state"], self.states) if options.get("state") else self.states
        queues = chosen_queues(broker, options["queue"])
        if options["cursor"] is not None and not (len(states) == 1 and options["queue"]):
            raise CommandError("--cursor goes with one --queue and one --state", returncode=2)
        found, cursor, is_complete = _found(broker, queues, states, options)
        if options["json"]:
            out.write(as_json({"tasks": [facts(each) for each in found], "cursor": cursor, "complete": is_complete}))
            return
        out.write(table(HEADINGS, [row(each) for each in found]) if found else f"no {self._what(states)} tasks")
        if cursor is not None:
            out.write(f"there are more: --cursor {cursor}")
        elif not is_complete:
            out.write("there are more: choose a queue and a state, or a larger --limit")

    def _what(self, states: Sequence[State]) -> str:
        return " or ".join(states) if len(states) < len(State) else "such"


class ShowTask(Verb):
    """All that the store knows of one task."""

    name = "show"
    help = "show everything about a task"
    examples: tuple[str, ...] = ("tasks show 01a23184-3589-7b90-a350-0fd669832a4f",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", help="its id; arguments and result are shown as they are stored")
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        snapshot = broker.get(valid_task_id(options["id"]))
        self.check(snapshot)
        out.write(as_json(facts(snapshot)) if options["json"] else described(snapshot))

    def check(self, snapshot: Snapshot) -> None:
        """Raises CommandError for one that is not meant here."""


class Tasks(Verb):
    """The common name."""

    name = "tasks"
    help = "list tasks, or show one"
    verbs = (ListTasks(), ShowTask())


def _found(
    broker: Broker, queues: Sequence[str], states: Sequence[State], options: Options
) -> tuple[list[Snapshot], str | None, bool]:
    """The tasks, where to go on when it is one queue and one state, and whether these are all."""
    found: list[Snapshot] = []
    cursor: str | None = options["cursor"]
    is_complete = True
    for queue in queues:
        for state in states:
            left = options["limit"] - len(found)
            some, cursor = _of_one(broker, valid_queue(queue), state, cursor, left, options["task_type"])
            found += some
            is_complete = is_complete and cursor is None
            if len(queues) * len(states) > 1:
                cursor = None
    return found, cursor, is_complete


def _of_one(
    broker: Broker, queue: str, state: State, cursor: str | None, limit: int, task_type: str | None
) -> tuple[list[Snapshot], str | None]:
    found: list[Snapshot] = []
    examined = 0
    while True:
        page = broker.list_tasks(queue, state, cursor=cursor, limit=max(min(limit - len(found), PAGE), 1))
        if limit <= 0:
            return [], "more" if page.snapshots else None
        examined += len(page.snapshots)
        found += [each for each in page.snapshots if task_type in (None, type_of(each))]
        cursor = page.cursor
        if cursor is None or len(found) >= limit or examined >= EXAMINED:
            return found, cursor if cursor and broker.list_tasks(
                queue, state, cursor=cursor, limit=1
            ).snapshots else None
