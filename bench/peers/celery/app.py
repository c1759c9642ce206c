"""The no-op task."""

import os

from celery import Celery

from bench.mark import mark

app = Celery("app", broker=os.environ["BENCH_URL"])
app.conf.update(task_acks_late=True, task_ignore_result=True, worker_hijack_root_logger=False)


@app.task
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)


def enqueue(index: int) -> None:
    """One."""
    noop.delay(index)
