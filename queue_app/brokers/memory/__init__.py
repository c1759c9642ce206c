"""The contract in readable Python: read this to understand the Lua.

One lock stands for what Redis is by nature: one script runs at a time. `broker` has the verbs, `queue` where the tasks
of a queue stand, `settling` what an outcome leads to, `holding` what a slot holds. It forgets everything with the
process, so it is for tests and for a first try.
"""

from queue_app.brokers.memory.broker import MemoryBroker

__all__ = ["MemoryBroker"]
