"""Enqueue the tasks 0 … BENCH_TASKS-1 in bulk, due at BENCH_DUE_AT where that is given."""

import os
from datetime import UTC, datetime

import django

SLICE = 10_000
"""So many at a time, so that a million does not stand in memory twice."""


def main() -> None:
    """Through the public API, as a host would."""
    django.setup()
    from bench.ours.tasks import noop
    from queue_app import enqueue_many

    total = int(os.environ["BENCH_TASKS"])
    due_at = os.environ.get("BENCH_DUE_AT")
    what = noop.using(run_after=datetime.fromtimestamp(float(due_at), UTC)) if due_at else noop
    for start in range(0, total, SLICE):
        enqueue_many((what, (index,)) for index in range(start, min(start + SLICE, total)))


if __name__ == "__main__":
    main()
