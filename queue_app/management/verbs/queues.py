"""queues: every queue in numbers, or one of them in detail."""

from argparse import ArgumentParser
from typing import Any

import msgspec

from queue_app.brokers.base import EVENTS, Broker
from queue_app.core.answers import QueueStats
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb, known_queue, takes_json
from queue_app.management.verbs.showing import as_json, as_time, one_line, table

HEADINGS = ("QUEUE", *(state.value.upper() for state in State), "PAUSED")
RECENT = 10
LONGEST_TYPE = 50


class Queues(Verb):
    """Counts by state; of one queue also what has happened in it so far, and lately."""

    name = "queues"
    help = "show every queue in numbers, or one in detail"
    examples: tuple[str, ...] = ("queues", "queues mail")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queue", nargs="?", help="this queue, in detail")
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if options["queue"]:
            self._run_one(broker, known_queue(broker, options["queue"]), options, out)
            return
        queues = [broker.stats(name) for name in broker.queues()]
        if options["json"]:
            out.write(as_json({"queues": [facts_of(each) for each in queues]}))
        else:
            out.write(table_of(queues))

    def _run_one(self, broker: Broker, queue: str, options: Options, out: Out) -> None:
        stats, recent = broker.stats(queue), broker.recent(queue, limit=RECENT)
        if options["json"]:
            out.write(as_json({**facts_of(stats), "recent": msgspec.to_builtins(recent)}))
            return
        out.write(table_of([stats]))
        out.write("")
        out.write(table(("SO FAR", "TASKS"), [(event, stats.totals.get(event, 0)) for event in EVENTS]))
        if recent:
            rows = [
                (
                    as_time(each.finished_at),
                    each.state,
                    each.task_id,
                    one_line(each.task_type, LONGEST_TYPE),
                    each.attempt,
                )
                for each in recent
            ]
            out.write("")
            out.write(table(("FINISHED", "STATE", "ID", "TYPE", "ATTEMPT"), rows))


def facts_of(stats: QueueStats) -> dict[str, Any]:
    """A queue for programs."""
    facts: dict[str, Any] = msgspec.to_builtins(stats)
    return facts


def table_of(queues: list[QueueStats]) -> str:
    """Queues for a person."""
    return table(HEADINGS, [_row(each) for each in queues]) if queues else "no queue has been used yet"


def _row(stats: QueueStats) -> tuple[object, ...]:
    counts = [stats.counts[state] for state in State]
    return (stats.queue, *counts, "all are" if stats.paused_by_all else "yes" if stats.paused else "no")
