"""Enqueue BENCH_TASKS tasks: sender.py task|broker <seconds between> | single | bulk | bare

Paced, by the public API or the bare broker, with a mark when each call began; or as fast as one client can, with a mark
at the beginning and one at the end: the public API one by one, in bulk, or the bare command of an enqueue.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable

from bench.mark import mark
from queue_app.brokers.redis import RedisBroker, connect
from queue_app.brokers.redis.connection import Call, Reply, Server
from queue_app.core.ids import new_id
from queue_app.core.task import Task

SLICE = 1_000
"""How many a bulk call gets at once."""
URL = os.environ["BENCH_URL"]


def paced(enqueue: Callable[[int], object], indexes: Iterable[int], every_seconds: float) -> None:
    """Keep to the beat, so that a slow call does not shift the next."""
    beat = time.monotonic()
    for index in indexes:
        mark(index)
        enqueue(index)
        beat += every_seconds
        time.sleep(max(beat - time.monotonic(), 0))


def timed(call: Callable[[], object], count: int) -> None:
    """Marked when it begins and when it has ended."""
    mark(0)
    call()
    mark(count)


def by_task() -> Callable[[int], object]:
    """The public API."""
    import django

    django.setup()
    from bench.ours.tasks import noop

    return noop.enqueue


def by_broker(broker: RedisBroker) -> Callable[[int], object]:
    """The bare script: no Django, no arguments to check, no transaction to look for."""

    def enqueue(index: int) -> None:
        payload = json.dumps({"args": [index]}).encode()
        broker.enqueue(Task(id=new_id(), task_type="bench.ours.tasks.noop", payload=payload))

    return enqueue


def one_by_one(indexes: range) -> None:
    """The public API, the next when the last is done."""
    enqueue = by_task()
    enqueue(0)

    def call() -> None:
        for index in indexes:
            enqueue(index)

    timed(call, len(indexes))


def in_bulk(indexes: range) -> None:
    """The public call for many."""
    by_task()(0)
    from bench.ours.tasks import noop
    from queue_app import enqueue_many

    def call() -> None:
        for start in range(0, len(indexes), SLICE):
            enqueue_many((noop, (index,)) for index in indexes[start : start + SLICE])

    timed(call, len(indexes))


def bare(indexes: range) -> None:
    """EVALSHA by redis-py with arguments that were made beforehand: what no client of the script can undercut."""
    import redis

    recorder = Recorder(URL)
    enqueue = by_broker(RedisBroker(recorder))
    enqueue(0)
    recorder.calls.clear()
    recorder.is_recording = True
    for index in indexes:
        enqueue(index)
    commands = [call.words("EVALSHA", call.script.sha) for call in recorder.calls]
    execute = redis.Redis.from_url(URL).execute_command

    def call() -> None:
        for command in commands:
            execute(*command)

    timed(call, len(indexes))


class Recorder(Server):
    """A connection that keeps the scripts that it should run, and says that all went well."""

    def __init__(self, url: str) -> None:
        """It runs them until it is told to record."""
        super().__init__(url)
        self.calls: list[Call] = []
        self.is_recording = False

    def run(self, calls: list[Call]) -> list[Reply]:  # type: ignore[override]
        """Keep them."""
        self.calls += calls
        return [[[[b"t", b"created"]], 0]] * len(calls) if self.is_recording else super().run(calls)


def main(how: str, every_seconds: float) -> None:
    """See the module."""
    indexes = range(int(os.environ["BENCH_TASKS"]))
    if how == "task":
        paced(by_task(), indexes, every_seconds)
    elif how == "broker":
        paced(by_broker(RedisBroker(connect(URL))), indexes, every_seconds)
    else:
        {"single": one_by_one, "bulk": in_bulk, "bare": bare}[how](indexes)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
