"""Everybody who takes part, in the order of the tables."""

from bench.errors import BenchError
from bench.peers.base import Peer
from bench.peers.bullmq.peer import BullMQ
from bench.peers.dramatiq.peer import Dramatiq
from bench.peers.huey.peer import Huey
from bench.peers.ours import Floor, Ours, OursLogging

OURS = Ours()
"""Default settings: what latency, idle and depth are measured on."""
FLOOR = Floor()
"""What the drain and the latency of ours are held against."""


def everybody() -> list[Peer]:
    """All contenders of the drain."""
    return [OURS, OursLogging(), Ours(batch=16), Ours(batch=1), BullMQ(50), BullMQ(4), Dramatiq(), Huey(), FLOOR]


def chosen(keys: list[str]) -> list[Peer]:
    """Those with these keys, or all of them for none. Raises BenchError for a key that nobody has."""
    known = {peer.key: peer for peer in everybody()}
    if unknown := [key for key in keys if key not in known]:
        raise BenchError(f"no contender {unknown[0]!r}; there are {', '.join(known)}")
    return [peer for key, peer in known.items() if not keys or key in keys]
