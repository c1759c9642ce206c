"""Everybody who takes part, in the order of the tables."""

from bench.errors import BenchError
from bench.peers.arq.peer import Arq
from bench.peers.baqueue.peer import BaQueue
from bench.peers.base import Peer
from bench.peers.bullmq.peer import BullMQ
from bench.peers.celery.peer import Celery
from bench.peers.django_tasks_redis.peer import DjangoTasksRedis
from bench.peers.dramatiq.peer import Dramatiq
from bench.peers.huey.peer import Huey
from bench.peers.ours import Floor, Ours, OursAlone, OursLogging, OursTwice
from bench.peers.rq.peer import Rq
from bench.peers.saq.peer import Saq
from bench.peers.streaq.peer import Streaq
from bench.peers.taskiq.peer import Taskiq

OURS = Ours()
"""Default settings: what is held against the others."""
FLOOR = Floor()
"""What the drain and the latency of ours are held against."""
BULLMQ = BullMQ(4)
"""The fastest of the others."""


def peers() -> list[Peer]:
    """The others, each at one setting."""
    return [
        BULLMQ,
        Dramatiq(),
        Huey(),
        Taskiq(),
        Saq(),
        Streaq(),
        Arq(),
        Celery(),
        DjangoTasksRedis(),
        BaQueue(),
        Rq(),
    ]


def everybody() -> list[Peer]:
    """All contenders of the drain."""
    ours = [OURS, OursAlone(), OursTwice(), OursLogging(), Ours(batch=16), Ours(batch=1)]
    return [*ours, BullMQ(50), *peers(), FLOOR]


def chosen(keys: list[str]) -> list[Peer]:
    """Those with these keys, or all of them for none. Raises BenchError for a key that nobody has."""
    known = {peer.key: peer for peer in everybody()}
    if unknown := [key for key in keys if key not in known]:
        raise BenchError(f"no contender {unknown[0]!r}; there are {', '.join(known)}")
    return [peer for key, peer in known.items() if not keys or key in keys]
