"""watch: queues, workers and the newest deaths, again and again."""

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.answers import QueueStats, Snapshot
from queue_app.core.errors import StoreUnavailable
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb
from queue_app.management.verbs.facts import HEADINGS as TASK_HEADINGS
from queue_app.management.verbs.facts import facts, row
from queue_app.management.verbs.queues import facts_of
from queue_app.management.verbs.showing import as_json, harmless, table
from queue_app.management.verbs.status import workers_table

NEWEST = 5
HEADINGS = ("QUEUE", "READY", "SCHEDULED", "RETRYING", "RUNNING", "DEAD", "IN/S", "OUT/S", "PAUSED")
OUT_EVENTS = ("succeeded", "dead", "cancelled", "deleted", "purged")
CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, screen erased: ECMA-48 CUP and ED."""


class Watch(Verb):
    """Redrawn on a terminal, appended elsewhere. A store that is away is told, and waited for."""

    name = "watch"
    help = "watch queues, workers and deaths live; Ctrl-C ends it"
    examples: tuple[str, ...] = ("watch", "watch --interval 5", "watch --json --count 10")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--interval", type=float, default=1.0, metavar="SECONDS", help="between looks (default 1)")
        parser.add_argument("--count", type=int, metavar="N", help="end after so many looks")
        parser.add_argument("--json", action="store_true", help="a line of JSON for each look, for programs")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        if not 0.1 <= options["interval"] <= 3_600:
            raise CommandError("--interval takes 0.1 to 3600 seconds", returncode=2)
        if options["count"] is not None and options["count"] < 1:
            raise CommandError("--count takes 1 or more", returncode=2)
        looks, before = 0, _Look({}, 0.0)
        try:
            while options["count"] is None or looks < options["count"]:
                if looks:
                    time.sleep(options["interval"])
                before = self._look(broker, before, options, out)
                looks += 1
        except KeyboardInterrupt:
            return

    def _look(self, broker: Broker, before: "_Look", options: Options, out: Out) -> "_Look":
        try:
            queues = [broker.stats(name) for name in broker.queues()]
            workers, dead = broker.workers(), _newest_dead(broker, queues)
        except StoreUnavailable as error:
            away = f"the store cannot be reached: {error}"
            out.write(as_json({"at": time.time(), "error": away}, indent=None) if options["json"] else harmless(away))
            return before
        look = _Look({each.queue: each for each in queues}, time.monotonic())
        rates = look.rates_since(before)
        if options["json"]:
            told: dict[str, Any] = {
                "at": time.time(),
                "queues": [{**facts_of(each), **rates[each.queue]} for each in queues],
                "workers": msgspec.to_builtins(workers),
                "newest_dead": [facts(each) for each in dead],
            }
            out.write(as_json(told, indent=None))
            return look
        parts = [
            f"{CLEAR if sys.stdout.isatty() else ''}{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}",
            table(HEADINGS, [_row(each, rates[each.queue]) for each in queues]) if queues else "no queue is used yet",
            workers_table(workers),
            *([table(TASK_HEADINGS, [row(each) for each in dead])] if dead else []),
        ]
        out.write("\n\n".join(parts))
        return look


class _Look:
    """The queues at one moment."""

    def __init__(self, queues: dict[str, QueueStats], at: float) -> None:
        self.queues = queues
        self.at = at

    def rates_since(self, before: "_Look") -> dict[str, dict[str, float]]:
        """Tasks a second that came into each queue and that left it for good; 0 where there is no look before."""
        seconds = self.at - before.at
        return {queue: self._rates(queue, before.queues.get(queue), seconds) for queue in self.queues}

    def _rates(self, queue: str, earlier: QueueStats | None, seconds: float) -> dict[str, float]:
        if earlier is None:
            return {"in_per_second": 0.0, "out_per_second": 0.0}
        passed = Counter(self.queues[queue].totals)
        passed.subtract(earlier.totals)
        return {
            "in_per_second": round(passed["enqueued"] / seconds, 1),
            "out_per_second": round(sum(passed[event] for event in OUT_EVENTS) / seconds, 1),
        }


def _newest_dead(broker: Broker, queues: list[QueueStats]) -> list[Snapshot]:
    found = [
        snapshot
        for each in queues
        if each.counts[State.DEAD]
        for snapshot in broker.list_tasks(each.queue, State.DEAD, limit=NEWEST).snapshots
    ]
    return sorted(found, key=lambda each: each.at or 0.0, reverse=True)[:NEWEST]


def _row(stats: QueueStats, rates: dict[str, float]) -> tuple[object, ...]:
    states: tuple[State, ...] = (State.READY, State.SCHEDULED, State.RETRYING, State.RUNNING, State.DEAD)
    paused = "all are" if stats.paused_by_all else "yes" if stats.paused else "no"
    return (
        stats.queue,
        *(stats.counts[state] for state in states),
        f"{rates['in_per_second']:,.1f}",
        f"{rates['out_per_second']:,.1f}",
        paused,
    )
