"""A process that a handler forked and that comes back into the worker is ended.

It would go on as a second slot under the first one's name: run what waits in its batch a second time, claim more, talk
over the same database connections, and live for ever, since nobody knows of it. A fork that ends itself, as those of
multiprocessing and subprocess do, never comes back.
"""

import logging
import os
import sys

logger = logging.getLogger("forgequeue.worker")


def end_if_forked(home: int, about: str) -> None:
    """Does nothing in the process `home`. In any other it says so and ends it, with nothing flushed or closed: what it
    has open is its parent's. Called where an error of the handler may be under way, which is shown."""
    if os.getpid() == home:
        return
    try:
        logger.error(
            "a process that a handler forked came back and is ended pid=%d %s",
            os.getpid(),
            about,
            exc_info=sys.exception(),
        )
    finally:
        os._exit(1)
