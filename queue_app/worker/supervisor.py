"""A worker with runners in processes of their own: the supervisor. It runs no user code.

What it must not share with them is made after the loader has been forked: connections and threads.
"""

import time
from collections.abc import Callable

from queue_app.brokers.base import Broker
from queue_app.worker.board import Board
from queue_app.worker.child import serve
from queue_app.worker.crew import Crew
from queue_app.worker.handling import Find
from queue_app.worker.keeper import Keeper
from queue_app.worker.loader import Loader
from queue_app.worker.options import LARGEST_BATCH, WorkerOptions
from queue_app.worker.process import AT_ONCE_SECONDS
from queue_app.worker.recovery import Recovery
from queue_app.worker.worker import Worker


class Supervisor(Worker[Crew]):
    """The worker, and two duties more: the runners themselves, and what the dead ones held."""

    def __init__(self, broker: Broker, options: WorkerOptions, board: Board, loader: Loader) -> None:
        super().__init__(broker, options, lambda worker: Crew(broker, options, worker, board))
        self._keeper = Keeper(self.runner, loader, self, all_idle=self.all_idle)
        self.duties += [self._keeper, Recovery(broker, self.runner, self.outlook, self)]

    def retire(self) -> None:
        if self._keeper.join(AT_ONCE_SECONDS / 2):
            self._keeper.close()
        super().retire()


def fork_loader(options: WorkerOptions, *, find: Find, get_broker: Callable[[], Broker]) -> tuple[Board, Loader]:
    """To be called while this process has one thread and no connection."""
    # Twice as many places as runners: each may be replaced while it still finishes what it runs.
    board = Board(
        places=2 * options.processes + 1,
        slots=options.concurrency,
        queues=options.queue_names,
        batch=options.batch_size or LARGEST_BATCH,
    )
    board.stamp(time.monotonic())
    return board, Loader(serve(options, board, find=find, get_broker=get_broker))
