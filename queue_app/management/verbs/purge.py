"""purge: drop what waits in a queue."""

from argparse import ArgumentParser

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb, known_queue, takes_json, takes_yes, words_of
from queue_app.management.verbs.showing import as_json, confirmed, counted

EXTRA = (State.SCHEDULED, State.RETRYING)


class Purge(Verb):
    """Ready tasks, and the scheduled and retrying ones when asked to. Running ones go on."""

    name = "purge"
    help = "drop the ready tasks of a queue"
    examples: tuple[str, ...] = ("purge mail", "purge mail --include scheduled,retrying --yes")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queue", help="the queue")
        parser.add_argument("--include", default="", metavar="STATES", help="also: scheduled, retrying, or both")
        takes_yes(parser)
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        queue = known_queue(broker, options["queue"])
        include = _states(options["include"])
        counts = broker.stats(queue).counts
        meant = ", ".join(f"{counts[state]:,} {state}" for state in (State.READY, *include))
        if not confirmed(f"Drop {meant} from {queue}?", is_sure=options["yes"]):
            raise CommandError("nothing was dropped", returncode=1)
        dropped = broker.purge(queue, include=include)
        told = f"dropped {counted(dropped, 'task')} from {queue}"
        out.write(as_json({"queue": queue, "dropped": dropped}) if options["json"] else told)


def _states(text: str) -> list[State]:
    words = list(words_of(text))
    wrong = [word for word in words if word not in EXTRA]
    if wrong:
        raise CommandError(f"--include takes scheduled and retrying, not {', '.join(wrong)}", returncode=2)
    return [state for state in EXTRA if state in words]
