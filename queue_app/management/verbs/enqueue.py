"""enqueue: hand a task to the queue from a shell."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.client import SLICE, enqueue_many, prepare
from queue_app.core.names import valid_task_type
from queue_app.management.verbs.base import Options, Out, Verb, takes_json
from queue_app.management.verbs.progress import Progress
from queue_app.management.verbs.showing import as_json
from queue_app.prepared import PreparedTask
from queue_app.registry import handlers


class Enqueue(Verb):
    """With arguments as JSON, or a raw payload. The type need not have a handler here: a worker elsewhere may."""

    name = "enqueue"
    help = "enqueue a task"
    examples: tuple[str, ...] = (
        """enqueue shop.tasks.send_receipt --args '[42]' --delay 60""",
        """enqueue shop.tasks.send_receipt --args '{"order_id": 42}' --queue mail""",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task_type", metavar="type", help="the task type, as forgequeue.demo.echo")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--args",
            dest="arguments",  # Django takes "args" for its own
            default="[]",
            metavar="JSON",
            help="a list of arguments, or an object of keyword arguments",
        )
        what.add_argument("--payload", metavar="TEXT", help="a raw payload instead of arguments")
        parser.add_argument("--queue", help="the queue; else the task's own, else the default one")
        parser.add_argument("--delay", type=float, metavar="SECONDS", help="not before so long")
        parser.add_argument("--priority", type=int, help="-100 to 100; larger runs first")
        parser.add_argument("--idempotency-key", metavar="KEY", help="a repeat with the same key creates nothing")
        parser.add_argument("--count", type=int, default=1, help="how many of them (default 1)")
        takes_json(parser)

    def run(self, _broker: Broker, options: Options, out: Out) -> None:
        if options["count"] < 1:
            raise CommandError("--count takes 1 or more", returncode=2)
        task_type = valid_task_type(options["task_type"])
        count = options["count"]
        results = []
        with Progress(count, "enqueueing") as progress:
            for size in _slices(count):
                results = enqueue_many([_prepared(task_type, options) for _ in range(size)])
                progress.step(size)
        last = results[-1]
        is_handled = handlers.get(task_type) is not None
        if options["json"]:
            out.write(as_json({"id": last.id, "created": last.created, "count": count, "handled_here": is_handled}))
            return
        known = "" if last.created else " (known already: nothing was created)"
        told = (
            f"{last.id}{known}"
            if count == 1
            else f"enqueued {count:,} tasks of type {task_type}, the last is {last.id}"
        )
        out.write(told)
        if not is_handled:
            out.write(f"note: nothing in this project handles {task_type}")


def _slices(count: int) -> Iterator[int]:
    """Sizes that add up to `count`: a million does not stand in memory at once."""
    for first in range(0, count, SLICE):
        yield min(SLICE, count - first)


def _prepared(task_type: str, options: Options) -> PreparedTask:
    payload = None if options["payload"] is None else str(options["payload"]).encode()
    given = {} if payload is not None else _given(options)
    try:
        return prepare(task_type, payload, on_commit=False, **given, **_choices(options))
    except TypeError as error:
        raise CommandError(f"{task_type} takes other arguments: {error}", returncode=2) from error


def _choices(options: Options) -> dict[str, Any]:
    names = {"queue": "queue_name", "delay": "delay", "priority": "priority", "idempotency_key": "idempotency_key"}
    return {option: options[name] for name, option in names.items() if options[name] is not None}


def _given(options: Options) -> dict[str, Any]:
    """The arguments: args or kwargs."""
    try:
        given = json.loads(options["arguments"])
    except ValueError as error:
        raise CommandError(f"--args is no JSON: {error}", returncode=2) from error
    if isinstance(given, list):
        return {"args": given}
    if isinstance(given, dict):
        return {"kwargs": given}
    raise CommandError("--args takes a JSON list, or an object of keyword arguments", returncode=2)
