"""Enqueue: how many tasks one client stores in a second, one by one or with a call for many. No worker runs."""

from bench.errors import RunFailed
from bench.marks import Mark, MarksFile
from bench.measures.base import Lab, Measured, Trial
from bench.peers.base import Peer
from bench.processes import finish
from bench.sampler import between

TIMEOUT_SECONDS = 300.0
SINGLE, BULK = "enqueue", "enqueue-bulk"


class Enqueue(Trial):
    """`tasks` tasks of one client."""

    def __init__(self, peer: Peer, tasks: int, *, in_bulk: bool) -> None:
        """Nothing runs yet."""
        self.peer = peer
        self.tasks = tasks
        self.in_bulk = in_bulk
        self.key = f"{BULK if in_bulk else SINGLE}/{peer.key}"
        self.seconds = 5.0

    def run(self, lab: Lab) -> Measured:
        """Run the client, which marks its beginning and its end."""
        lab.reset()
        load = lab.load(self.tasks)
        sends = MarksFile(lab.marks.path.with_name("sends"))
        sends.clear()
        before = lab.quiet_sample()
        command = self.peer.enqueuer(load, sends.path, in_bulk=self.in_bulk)
        finish(command, lab.log(f"{self.peer.key}-enqueuer"), timeout=TIMEOUT_SECONDS)
        usage = between(before, lab.sample())
        return Measured(figures=figures(sends.read(), self.tasks), noise_cores=usage.others_cores)


def figures(marks: list[Mark], tasks: int) -> dict[str, float]:
    """Tasks a second between the two marks."""
    if len(marks) != 2 or marks[1][1] != tasks:
        raise RunFailed("the client did not come to its end")
    return {"tasks_per_s": tasks / (marks[1][0] - marks[0][0]), "tasks": tasks}
