"""What every verb is, and what most of them ask."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.names import valid_queue

Options = Mapping[str, Any]


class Out(Protocol):
    """Where a verb writes: one call is one line."""

    def write(self, text: str) -> object: ...


class Verb:
    """One thing that a person can do."""

    name = ""
    help = ""
    examples: tuple[str, ...] = ()
    """What follows `manage.py forgequeue`, shown at the end of its help."""
    verbs: tuple["Verb", ...] = ()
    """Verbs of its own, where it is only their common name."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What it takes; nothing unless a verb says so."""

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        """Do it. Raises ForgeQueueError for what the store refuses, CommandError for what a person got wrong."""
        raise NotImplementedError(f"{type(self).__name__} has verbs of its own")


def takes_json(parser: ArgumentParser) -> None:
    """The option of every verb that says something."""
    parser.add_argument("--json", action="store_true", help="one JSON document, for programs")


def takes_yes(parser: ArgumentParser) -> None:
    """The option of every verb that destroys something."""
    parser.add_argument("--yes", action="store_true", help="do not ask")


def known_queue(broker: Broker, name: str) -> str:
    """The name of a queue that was ever used. A typo acts on nothing and is told."""
    known = broker.queues()
    if valid_queue(name) not in known:
        raise CommandError(f"there is no queue {name!r}; there are: {', '.join(known) or 'none yet'}", returncode=1)
    return name


def chosen_queues(broker: Broker, queue: str | None) -> list[str]:
    """The one that was asked for, or all."""
    return broker.queues() if queue is None else [known_queue(broker, queue)]


def words_of(text: str) -> Iterator[str]:
    """The words of a list that is written with commas."""
    return (word for part in text.split(",") if (word := part.strip()))
