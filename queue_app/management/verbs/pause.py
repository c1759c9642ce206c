"""pause and resume: stop claims of one queue or of all, and let them go on."""

from argparse import ArgumentParser

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.management.verbs.base import Options, Out, Verb, known_queue, takes_json
from queue_app.management.verbs.showing import as_json


class _OnQueues(Verb):
    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("queue", nargs="?", help="the queue")
        which.add_argument("--all", action="store_true", help="every queue, also one that is made later")
        takes_json(parser)

    def _queue(self, broker: Broker, options: Options) -> str | None:
        if options["all"]:
            return None
        if not options["queue"]:
            raise CommandError("give a queue, or --all", returncode=2)
        return known_queue(broker, options["queue"])


class Pause(_OnQueues):
    """Nothing is claimed until it is resumed; what runs goes on."""

    name = "pause"
    help = "stop claiming tasks of a queue, or of all"
    examples: tuple[str, ...] = ("pause mail", "pause --all")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        queue = self._queue(broker, options)
        broker.pause(queue)
        told = f"{queue or 'every queue'} is paused; what runs already goes on"
        out.write(as_json({"queue": queue, "paused": True}) if options["json"] else told)


class Resume(_OnQueues):
    """The reverse. A queue that was paused by name stays so when all are resumed."""

    name = "resume"
    help = "go on claiming tasks of a queue, or of all"
    examples: tuple[str, ...] = ("resume mail", "resume --all")

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        queue = self._queue(broker, options)
        broker.resume(queue)
        names = broker.queues() if queue is None else [queue]
        still = [name for name in names if (stats := broker.stats(name)).paused or stats.paused_by_all]
        told = f"{queue or 'every queue'} is resumed" + (f"; still paused: {', '.join(still)}" if still else "")
        out.write(as_json({"queue": queue, "paused": False, "still_paused": still}) if options["json"] else told)
