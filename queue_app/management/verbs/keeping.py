"""inspect-keys and takeover: what can be done only where the store is Redis."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.management.verbs.base import Options, Out, Verb, chosen_queues, takes_json
from queue_app.management.verbs.progress import Progress
from queue_app.management.verbs.showing import as_json, counted, harmless


@runtime_checkable
class HasKeys(Protocol):
    """A broker whose store can be walked key by key."""

    def disagreements(self) -> Iterable[str]:
        """Each in plain words."""
        ...

    def take_over(self, queue: str) -> int:
        """Move a slice of a foreign dead list into ours; how many."""
        ...

    def foreign_dead(self, queue: str) -> int:
        """How long that list is."""
        ...


class InspectKeys(Verb):
    """Two walks: on a store in use the first may report what only moved, so what counts is in both."""

    name = "inspect-keys"
    help = "walk every key and print every disagreement"
    examples: tuple[str, ...] = ("inspect-keys", "inspect-keys --once --json")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="one walk, for a store that is not in use")
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        store = _with_keys(broker)
        found = sorted(set(store.disagreements()))
        if found and not options["once"]:
            again = set(store.disagreements())
            found = [each for each in found if each in again]
        if options["json"]:
            out.write(as_json({"disagreements": found}))
        for line in [] if options["json"] else found:
            out.write(harmless(line))
        if found:
            raise CommandError(counted(len(found), "disagreement"), returncode=1)
        if not options["json"]:
            out.write("every key is where it should be")


class Takeover(Verb):
    """What the sweeper does a hundred at a time and in its own time."""

    name = "takeover"
    help = "take over the dead list of a Go worker"
    examples: tuple[str, ...] = ("takeover", "takeover --queue mail")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", help="of this queue only")
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        store = _with_keys(broker)
        queues = chosen_queues(broker, options["queue"])
        waiting = {queue: store.foreign_dead(queue) for queue in queues}
        taken = dict.fromkeys(queues, 0)
        with Progress(sum(waiting.values()), "taking over") as progress:
            for queue, count in waiting.items():
                # No more than were there: a worker that goes on dying does not keep us.
                while taken[queue] < count and (some := store.take_over(queue)):
                    taken[queue] += some
                    progress.step(some)
        if options["json"]:
            out.write(as_json({"taken_over": taken}))
        else:
            out.write(f"took over {counted(sum(taken.values()), 'dead task')}")


def _with_keys(broker: Broker) -> HasKeys:
    if not isinstance(broker, HasKeys):
        raise CommandError(f"{type(broker).__name__} keeps no keys: this is for Redis", returncode=2)
    return broker
