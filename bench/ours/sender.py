"""Enqueue BENCH_TASKS tasks one by one, and note when each call began: sender.py <seconds between> <task|broker>"""

import json
import os
import sys
import time
from collections.abc import Callable

from bench.mark import mark


def main(every_seconds: float, through: str) -> None:
    """Keep to the beat, so that a slow call does not shift the next."""
    enqueue = _by_task() if through == "task" else _by_broker()
    beat = time.monotonic()
    for index in range(int(os.environ["BENCH_TASKS"])):
        mark(index)
        enqueue(index)
        beat += every_seconds
        time.sleep(max(beat - time.monotonic(), 0))


def _by_task() -> Callable[[int], object]:
    """The public API."""
    import django

    django.setup()
    from bench.ours.tasks import noop

    return noop.enqueue


def _by_broker() -> Callable[[int], object]:
    """The bare script: no Django, no arguments to check, no transaction to look for."""
    from queue_app.brokers.redis import RedisBroker, connect
    from queue_app.core.ids import new_id
    from queue_app.core.task import Task

    broker = RedisBroker(connect(os.environ["BENCH_URL"]))

    def enqueue(index: int) -> None:
        payload = json.dumps({"args": [index]}).encode()
        broker.enqueue(Task(id=new_id(), task_type="noop", payload=payload), delay_seconds=0.0)

    return enqueue


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])
