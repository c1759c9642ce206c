"""The index in a task's payload, read without the product's own argument handling."""

from typing import Any

import msgspec

from queue_app.core.lease import Claimed

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def index_of(claimed: Claimed) -> int:
    """The only argument of the no-op."""
    return int(_decode(claimed.task.payload or b"{}")["args"][0])
