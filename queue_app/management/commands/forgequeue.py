"""`manage.py forgequeue <verb>`: the queue, for a person at a shell.

Exit codes: 0 done; 1 refused, or there is no such task; 2 wrong usage or settings; 3 the store cannot be reached;
130 interrupted.
"""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from queue_app.core.errors import ConfigurationError, ForgeQueueError, InvalidArgument, InvalidName, StoreUnavailable
from queue_app.management.verbs import VERBS
from queue_app.management.verbs.base import Verb
from queue_app.runtime import get_broker

REFUSED, USAGE, UNREACHABLE = 1, 2, 3


class Command(BaseCommand):
    """Dispatches to one verb."""

    help = "Look at the queue, and act on it."
    epilog = (
        "Exit codes: 0 done; 1 refused, or no such task; 2 wrong usage or settings; 3 the store cannot be reached; "
        "130 interrupted. Each verb has a --help of its own, with examples."
    )
    # A wrong setting is told by the verb that needs it, in one line.
    requires_system_checks = []  # noqa: RUF012 - as Django has it

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, epilog=self.epilog, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        _add_verbs(parser, VERBS, "verb")

    def handle(self, *_: Any, **options: Any) -> None:
        verb: Verb = options["run"]
        try:
            verb.run(get_broker(), options, self.stdout)
        except (ConfigurationError, InvalidArgument, InvalidName) as error:
            raise CommandError(str(error), returncode=USAGE) from error
        except StoreUnavailable as error:
            raise CommandError(f"the store cannot be reached: {error}", returncode=UNREACHABLE) from error
        except ForgeQueueError as error:
            raise CommandError(str(error), returncode=REFUSED) from error


def _add_verbs(parser: CommandParser, verbs: tuple[Verb, ...], dest: str) -> None:
    group = parser.add_subparsers(title="verbs", dest=dest, required=True, metavar="<verb>")
    for verb in verbs:
        sub = group.add_parser(
            verb.name,
            help=verb.help,
            description=f"{verb.help[0].upper()}{verb.help[1:]}.",
            epilog=_examples(verb),
            formatter_class=RawDescriptionHelpFormatter,
        )
        verb.add_arguments(sub)
        if verb.verbs:
            _add_verbs(sub, verb.verbs, f"{dest}_{verb.name}")
        else:
            sub.set_defaults(run=verb)


def _examples(verb: Verb) -> str | None:
    if not verb.examples:
        return None
    return "\n".join(["examples:", *(f"  manage.py forgequeue {example}" for example in verb.examples)])
