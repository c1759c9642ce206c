"""Four of its workers, each a process of its own; they end together."""

import os
import signal
import subprocess
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
COMMAND = (sys.executable, "-m", "django", "run_redis_tasks", "--continuous")
workers = [subprocess.Popen(COMMAND) for _ in range(4)]


def end(*_: object) -> None:
    """SIGTERM to all."""
    for worker in workers:
        worker.terminate()


signal.signal(signal.SIGTERM, end)
for worker in workers:
    worker.wait()
