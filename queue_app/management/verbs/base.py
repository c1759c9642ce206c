"""What every verb is, and how it asks and answers."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.answers import Snapshot
from queue_app.core.errors import ForgeQueueError
from queue_app.core.names import valid_queue
from queue_app.core.states import State

Options = Mapping[str, Any]


class Out(Protocol):
    """Where a verb writes: one call is one line."""

    def write(self, text: str) -> object: ...


class Verb:
    """One thing that a person can do."""

    name = ""
    help = ""
    verbs: tuple["Verb", ...] = ()
    """Verbs of its own, where it is only their common name."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What it takes; nothing unless a verb says so."""

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        """Do it. Raises ForgeQueueError for what the store refuses, CommandError for what a person got wrong."""
        raise NotImplementedError(f"{type(self).__name__} has verbs of its own")


def known_queue(broker: Broker, name: str) -> str:
    """The name of a queue that was ever used. A typo acts on nothing and is told."""
    known = broker.queues()
    if valid_queue(name) not in known:
        raise CommandError(f"there is no queue {name!r}; there are: {', '.join(known) or 'none yet'}", returncode=1)
    return name


def confirmed(question: str, *, is_sure: bool) -> bool:
    """Whether to go on: said beforehand with --yes, or asked for. Without a terminal, only beforehand."""
    if is_sure:
        return True
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Say --yes to do it.", returncode=2)
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def every(broker: Broker, queue: str, state: State) -> Iterator[Snapshot]:
    """Every task of a state, page by page. What is taken out of the state meanwhile makes it skip."""
    cursor: str | None = None
    while True:
        page = broker.list_tasks(queue, state, cursor=cursor, limit=500)
        yield from page.snapshots
        cursor = page.cursor
        if cursor is None:
            return


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they must be; numbers on the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(headings), *texts]) for column in range(len(headings))]
    is_number = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(list(headings)), *map(line, texts)])


def as_json(value: object) -> str:
    """For programs: one document."""
    return json.dumps(value, indent=2, sort_keys=True, default=str)


def as_time(seconds: float | None) -> str:
    """An instant in UTC, to the second; a dash for none."""
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def tried(outcomes: Iterator[tuple[str, ForgeQueueError | None]], out: Out, done: str) -> None:
    """Say what became of each, and end with 1 when some were refused."""
    counts = {True: 0, False: 0}
    for task_id, error in outcomes:
        counts[error is None] += 1
        out.write(f"{task_id}: {done if error is None else error}")
    if counts[False]:
        raise CommandError(f"{counts[False]} of {sum(counts.values())} refused", returncode=1)
