"""Ids that sort by time, and ids that follow from an idempotency key."""

import os
import time
import uuid

_KEYED = uuid.UUID("6f1c2a34-0c1e-5b7e-9d53-0f7e5f0a4b11")


def new_id() -> str:
    """A UUIDv7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def keyed_id(queue: str, key: str, generation: int = 0) -> str:
    """The id of the task that `key` names in `queue`: the same for every caller, before anything is stored.

    `generation` counts the times the store has forgotten the key while it still knew the task.
    """
    return str(uuid.uuid5(_KEYED, f"{queue}\0{generation}\0{key}"))


def new_token() -> str:
    """Text that nobody else has: 128 random bits in hexadecimal."""
    return os.urandom(16).hex()
