"""`manage.py runworker`: run tasks until told to stop."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from django.core.management import BaseCommand, CommandError
from django.db import connections

from queue_app.brokers.base import MAX_BATCH, Broker
from queue_app.conf import Settings, get_settings
from queue_app.core.errors import ConfigurationError, InvalidArgument, InvalidName, StoreRefused, StoreUnavailable
from queue_app.core.showing import safe_url
from queue_app.registry import handlers
from queue_app.runtime import get_broker
from queue_app.worker.options import (
    CANCEL_GRACE_SECONDS,
    STALL_SECONDS,
    WorkerOptions,
    new_worker_name,
    queues_of,
)
from queue_app.worker.process import SIGNALS
from queue_app.worker.supervisor import Supervisor, fork_loader
from queue_app.worker.worker import Crew, Worker, lone_worker

OF_RUNNERS = ("cancel_grace", "stall_timeout", "max_tasks", "max_time", "max_memory")
"""Options that mean nothing without runner processes."""

logger = logging.getLogger("forgequeue.worker")


def _number(kind: Callable[[str], float], lowest: float, highest: float) -> Callable[[str], Any]:
    """An argparse type: a number within limits."""
    what = "a whole number" if kind is int else "a number"

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = lowest - 1
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {lowest:,} to {highest:,}")
        return value

    return read


def _text(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """An argparse type: what `read` makes of the text, with its own words where it refuses."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except (InvalidName, InvalidArgument) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


class Command(BaseCommand):
    """Options, then a worker. Where channel names are given it is the command of channels instead."""

    help = "Runs tasks until told to stop. SIGTERM or Ctrl-C lets running tasks end; a second one ends at once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """What is not given comes from settings.FORGEQUEUE."""
        add = parser.add_argument
        add(
            "--queues",
            type=_text(queues_of),
            metavar="A:6,B:3,C",
            help="queues to serve, with weights: of ten tasks six from A, three from B and one from C",
        )
        add("--strict", action="store_true", help="take from the first queue that has work; the last ones may starve")
        add("--concurrency", type=_number(int, 1, 1_000), metavar="N", help="tasks at the same time")
        add(
            "--batch-size",
            type=_number(int, 1, MAX_BATCH),
            metavar="N",
            help="tasks that a slot claims at once; without it a tenth of a second of work, at most 64",
        )
        add("--burst", action="store_true", help="stop when nothing is ready; what is due later is left")
        add(
            "--drain-timeout",
            type=_number(float, 0, 86_400),
            metavar="SECONDS",
            help="how long running tasks may go on after SIGTERM; then they are handed back, uncounted",
        )
        add(
            "--cancel-grace",
            type=_number(float, 0, 86_400),
            metavar="SECONDS",
            help="how long a handler may ignore that its task was cancelled, until its runner is ended (default 10)",
        )
        add(
            "--stall-timeout",
            type=_number(float, 1, 86_400),
            metavar="SECONDS",
            help="how long a runner may be stopped (SIGSTOP) until it is ended (default 60)",
        )
        add("--max-tasks", type=_number(int, 1, 10**12), metavar="N", help="replace a runner after so many tasks")
        add("--max-time", type=_number(float, 1, 10**9), metavar="SECONDS", help="replace a runner after so long")
        add(
            "--max-memory",
            type=_number(int, 1, 10**9),
            metavar="MB",
            help="replace a runner that holds so many megabytes of memory",
        )
        add("--lease", type=_number(float, 0.1, 86_400), metavar="SECONDS", help="how long a lease lasts")
        add(
            "--processes",
            type=_number(int, 0, 1_000),
            metavar="N",
            help="runner processes; 0 runs tasks in the worker's own process",
        )
        add("--name", type=_text(new_worker_name), help="how the worker's name begins, instead of with the host's")
        add("--layer", help="of channels, together with channel names")
        add("channels", nargs="*", help="channel names: runs the command of channels instead")

    def handle(self, *args: object, **options: Any) -> None:
        """Run the worker to its end."""
        if options["channels"]:
            self._run_channels(options)
            return
        settings = _settings()
        processes = self._processes(options, settings)
        worker_options = _worker_options(settings, options, processes)
        if not processes and (of_runners := [name for name in OF_RUNNERS if options[name] is not None]):
            raise CommandError(f"--{of_runners[0].replace('_', '-')} is for runner processes, and there are none.")
        worker: Worker[Crew]
        if processes:
            # Before anything is opened: what the runners inherit has to be clean.
            connections.close_all()
            board, loader = fork_loader(worker_options, find=handlers.find, get_broker=get_broker)
            worker = Supervisor(_reached(settings), worker_options, board, loader)
        else:
            worker = lone_worker(_reached(settings), worker_options, find=handlers.find)
        for concern in worker.broker.concerns():
            logger.warning("%s", concern)
        give_back: Callable[[], None] | None = None
        if threading.current_thread() is threading.main_thread():
            give_back = worker.take_signals()
        code = worker.run(started=lambda: self._say_start(worker.options, settings))
        self._say_end(worker)
        if give_back is not None:
            self._let_go_of_signals(give_back)
        if worker.is_stuck:
            # Its thread cannot be ended and Python might wait for it; what it runs has been handed back.
            _leave(code)
        if code:
            sys.exit(code)

    def _processes(self, options: dict[str, Any], settings: Settings) -> int:
        """How many runners. A call from Python, a test perhaps, forks nobody unless it says so."""
        asked: int | None = options["processes"]
        if settings.url == "memory://":
            if asked:
                raise CommandError("memory:// is this process alone: use --processes 0, or another URL.")
            return 0
        if asked is None:
            return settings.processes if getattr(self, "_called_from_command_line", False) else 0
        return asked

    def _let_go_of_signals(self, give_back: Callable[[], None]) -> None:
        if not getattr(self, "_called_from_command_line", False):
            give_back()
            return
        # One more signal while Python tidies up would make a good end look like a bad one.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _say_start(self, options: WorkerOptions, settings: Settings) -> None:
        queues = ", ".join(queue if options.strict else f"{queue}:{weight}" for queue, weight in options.queues)
        self.stdout.write(
            f"worker {options.name} serves {queues}{' in this order' if options.strict else ''}"
            f" with {_slots(options)} at {safe_url(settings.url)}"
        )
        self.stdout.flush()
        if not options.processes and (
            limited := [task_type for task_type in handlers.types() if handlers.find(task_type).options.hard_timeout]
        ):
            logger.warning("hard_timeout is not kept: a worker of one process has none to end types=%s", limited)

    def _say_end(self, worker: Worker[Crew]) -> None:
        processed, failed = worker.runner.counts()
        self.stdout.write(f"worker {worker.options.name} ended: {processed} attempts, {failed} of them failed")
        self.stdout.flush()

    def _run_channels(self, options: dict[str, Any]) -> None:
        try:
            from channels.management.commands.runworker import (  # type: ignore[import-untyped]
                Command as ChannelsCommand,
            )
        except ImportError:
            raise CommandError(f"{_hint(options)} They need channels, which is not installed.") from None
        command = ChannelsCommand(stdout=self.stdout, stderr=self.stderr)
        given = {name: options[name] for name in ("channels", "layer", "verbosity") if options.get(name) is not None}
        try:
            command.handle(**given)
        except CommandError as error:
            raise CommandError(f"{error} {_hint(options)}") from None


def _slots(options: WorkerOptions) -> str:
    return f"{options.processes} × {options.concurrency} slots" if options.processes else f"{options.concurrency} slots"


def _hint(options: dict[str, Any]) -> str:
    return f"{', '.join(options['channels'])}: names are channels; queues are named with --queues."


def _settings() -> Settings:
    try:
        return get_settings()
    except ConfigurationError as error:
        raise CommandError(str(error)) from None


def _reached(settings: Settings) -> Broker:
    """A broker whose store has answered. Fails fast, in one line."""
    try:
        broker = get_broker()
        broker.now()
    except ConfigurationError as error:
        raise CommandError(str(error)) from None
    except (StoreUnavailable, StoreRefused) as error:
        raise CommandError(f"the engine at {safe_url(settings.url)} does not answer: {error}") from None
    return broker


def _worker_options(settings: Settings, options: dict[str, Any], processes: int) -> WorkerOptions:
    """What the command line says, and the settings where it says nothing."""

    def given(name: str, otherwise: Any) -> Any:
        return otherwise if options[name] is None else options[name]

    return WorkerOptions(
        name=given("name", new_worker_name()),
        queues=given("queues", settings.served_queues),
        strict=options["strict"],
        concurrency=given("concurrency", settings.concurrency),
        batch_size=given("batch_size", settings.batch_size),
        lease_seconds=given("lease", settings.lease_seconds),
        drain_seconds=given("drain_timeout", settings.drain_timeout),
        processes=processes,
        cancel_grace_seconds=given("cancel_grace", CANCEL_GRACE_SECONDS),
        stall_seconds=given("stall_timeout", STALL_SECONDS),
        max_tasks=options["max_tasks"],
        max_seconds=options["max_time"],
        max_memory_bytes=options["max_memory"] and options["max_memory"] * 1_000_000,
        burst=options["burst"],
        foreign_producers=settings.foreign_producers,
        log_each_task=settings.log_each_task,
    )


def _leave(code: int) -> NoReturn:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
