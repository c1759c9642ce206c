"""status: the queues and workers in numbers."""

from argparse import ArgumentParser
from typing import Any

import msgspec

from queue_app.brokers.base import Broker
from queue_app.core.answers import QueueStats, WorkerRecord
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb, as_json, as_time, table

HEADINGS = ("QUEUE", *(state.value.upper() for state in State), "PAUSED")


class Status(Verb):
    """Every queue with its counts, and every worker that lives."""

    name = "status"
    help = "show queues and workers"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document, for programs")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        queues = [broker.stats(name) for name in broker.queues()]
        workers = broker.workers()
        if options["json"]:
            out.write(as_json({"queues": [_facts(each) for each in queues], "workers": msgspec.to_builtins(workers)}))
            return
        out.write(table(HEADINGS, [_row(each) for each in queues]) if queues else "no queue has been used yet")
        out.write("")
        out.write(_workers(workers))


def _facts(stats: QueueStats) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(stats)
    return facts


def _row(stats: QueueStats) -> tuple[object, ...]:
    counts = [stats.counts[state] for state in State]
    return (stats.queue, *counts, "all are" if stats.paused_by_all else "yes" if stats.paused else "no")


def _workers(workers: list[WorkerRecord]) -> str:
    if not workers:
        return "no worker is running: start one with manage.py runworker"
    rows = [
        (
            each.name,
            ",".join(each.queues),
            f"{len(each.running)}/{each.concurrency}",
            each.prefetched,
            each.processed,
            each.failed,
            as_time(each.started_at),
            "draining" if each.draining else "",
        )
        for each in workers
    ]
    return table(("WORKER", "QUEUES", "BUSY", "PREFETCHED", "PROCESSED", "FAILED", "STARTED", ""), rows)
