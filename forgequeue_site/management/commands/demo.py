"""`manage.py demo`, which `./forge demo` runs."""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from forgequeue_site.demo.run import Demo, Plan


class Command(BaseCommand):
    """Engine, web site, worker and a stream of sample tasks, until Ctrl-C."""

    help = "Runs the engine, the web site, a worker and a stream of sample tasks, until Ctrl-C. The data is kept."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Options of the command line."""
        parser.add_argument("--port", type=int, help="of the web site; the first free one from 8000 without it")
        parser.add_argument("--rate", type=float, default=5.0, help="sample tasks a second (5)")
        parser.add_argument("--for", type=float, dest="seconds", metavar="SECONDS", help="stop by itself after so long")

    def handle(self, *args: object, **options: Any) -> None:
        """Run the demo."""
        if not 0 <= options["rate"] <= 1_000:
            raise CommandError("--rate must be from 0 to 1000.")
        # Notes of single tasks would tear the status line apart.
        logging.getLogger("forgequeue").setLevel(logging.WARNING)
        plan = Plan(
            base_dir=Path(settings.BASE_DIR),
            var_dir=Path(settings.VAR_DIR),
            engine_dir=_engine_dir(),
            rate=options["rate"],
            port=options["port"],
            seconds=options["seconds"],
        )
        Demo(plan, sys.stdout).run()


def _engine_dir() -> Path | None:
    """Where the embedded engine's data is; None when the engine is another one."""
    url = settings.FORGEQUEUE["URL"]
    if url.startswith("memory://"):
        raise CommandError("memory:// lives in one process, and the demo is three; leave FORGEQUEUE_REDIS_ADDR unset.")
    return Path(settings.FORGEQUEUE["EMBEDDED_DIR"]) if url.startswith("embedded://") else None
