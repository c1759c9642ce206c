"""The name of every key. The first seven are given by the Go system; in a cluster the queue's name wears braces,
so that all keys of a queue are in one slot.
"""

import msgspec


class Keys(msgspec.Struct, frozen=True):
    """Names for one installation: `prefix` keeps several apart on one server."""

    prefix: str = ""
    cluster: bool = False

    def queue(self, name: str) -> str:
        """The base of a queue's structures: each is this plus `:immediate`, `:inflight`, `:leases` and so on."""
        return f"{self.prefix}queue:{self._tagged(name)}"

    def structure(self, name: str, structure: str) -> str:
        """One structure of a queue."""
        return f"{self.queue(name)}:{structure}"

    def paused_all(self, name: str) -> str:
        """Present: every queue is paused. In a cluster each queue has a flag of its own in its slot."""
        return f"{self.queue(name)}:paused_all" if self.cluster else self.paused

    def task(self, queue: str, task_id: str = "") -> str:
        """The body of a task that is not over, or dead."""
        return f"{self.prefix}task:{self._scope(queue)}{task_id}"

    def finished(self, queue: str, task_id: str = "") -> str:
        """The body of a succeeded or cancelled task that is kept."""
        return f"{self.prefix}finished:{self._scope(queue)}{task_id}"

    def result(self, queue: str, task_id: str = "") -> str:
        """What a succeeded task returned."""
        return f"{self.prefix}result:{self._scope(queue)}{task_id}"

    @property
    def paused(self) -> str:
        """Present: every queue is paused, also one that is made later."""
        return f"{self.prefix}queue:paused"

    @property
    def queues(self) -> str:
        """The set of all queue names."""
        return f"{self.prefix}queues"

    @property
    def workers(self) -> str:
        """The hash of what workers say of themselves."""
        return f"{self.prefix}{'{workers}' if self.cluster else 'workers'}"

    def _tagged(self, name: str) -> str:
        return f"{{{name}}}" if self.cluster else name

    def _scope(self, queue: str) -> str:
        return f"{{{queue}}}:" if self.cluster else ""


STRUCTURES = {
    "immediate": "list",
    "above": "zset",
    "below": "zset",
    "priority_of": "hash",
    "sequences": "hash",
    "tombstones": "hash",
    "marker": "list",
    "scheduled": "zset",
    "retrying": "zset",
    "inflight": "zset",
    "leases": "hash",
    "holders": "hash",
    "closed": "zset",
    "cancels": "hash",
    "settled": "hash",
    "succeeded": "zset",
    "succeeded:until": "zset",
    "dead_ids": "zset",
    "dead_ids:until": "zset",
    "dead": "list",
    "cancelled": "zset",
    "cancelled:until": "zset",
    "keys": "hash",
    "keys:until": "zset",
    "recent": "list",
    "totals": "hash",
    "throughput": "hash",
    "throughput_coarse": "hash",
    "paused": "string",
    "purges": "set",
    "purges:count": "hash",
}
"""Every structure that a queue can have, and its Redis type."""
