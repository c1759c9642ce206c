"""Enqueue BENCH_TASKS tasks, one each so many seconds, and note when each call began: sender.py <seconds>"""

import os
import sys
import time

import django


def main(every_seconds: float) -> None:
    """Keep to the beat, so that a slow call does not shift the next."""
    django.setup()
    from bench.mark import mark
    from bench.ours.tasks import noop

    beat = time.monotonic()
    for index in range(int(os.environ["BENCH_TASKS"])):
        mark(index)
        noop.enqueue(index)
        beat += every_seconds
        time.sleep(max(beat - time.monotonic(), 0))


if __name__ == "__main__":
    main(float(sys.argv[1]))
