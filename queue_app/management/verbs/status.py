"""status: the queues and workers in numbers."""

from argparse import ArgumentParser

import msgspec

from queue_app.brokers.base import Broker
from queue_app.core.answers import WorkerRecord
from queue_app.management.verbs.base import Options, Out, Verb, takes_json
from queue_app.management.verbs.queues import facts_of, table_of
from queue_app.management.verbs.showing import as_json, as_time, table


class Status(Verb):
    """Every queue with its counts, and every worker that lives."""

    name = "status"
    help = "show queues and workers"
    examples: tuple[str, ...] = ("status", "status --json")

    def add_arguments(self, parser: ArgumentParser) -> None:
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        queues = [broker.stats(name) for name in broker.queues()]
        workers = broker.workers()
        if options["json"]:
            out.write(as_json({"queues": [facts_of(each) for each in queues], "workers": msgspec.to_builtins(workers)}))
            return
        out.write(table_of(queues))
        out.write("")
        out.write(workers_table(workers))


def workers_table(workers: list[WorkerRecord]) -> str:
    """Workers for a person."""
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
