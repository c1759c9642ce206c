"""BaQueue with its Redis driver."""

from pathlib import Path

from bench.peers.base import Load
from bench.peers.python import PythonPeer
from bench.processes import Command


class BaQueue(PythonPeer):
    """See `setting`."""

    key = "baqueue"
    label = "BaQueue, 4 workers"
    setting = (
        "1 process, 4 workers, no balancing, sleep 0.1 s, Redis driver, finished jobs pruned after 5 s as by default"
    )
    folder = Path(__file__).resolve().parent
    most_tasks = 3_000
    has_bulk = True

    def worker(self, load: Load) -> Command:
        """The command of its documentation."""
        driver = ("--driver", "redis", "--driver-url", load.url)
        return self.script(
            load,
            "baqueue",
            "work",
            "--queue",
            "bench",
            "--workers",
            "4",
            "--sleep",
            "0.1",
            "--balance",
            "false",
            *driver,
        )
