"""The verbs of `manage.py forgequeue`, one file each."""

from queue_app.management.verbs.base import Verb
from queue_app.management.verbs.cancel import Cancel
from queue_app.management.verbs.dead import Dead
from queue_app.management.verbs.enqueue import Enqueue
from queue_app.management.verbs.pause import Pause, Resume
from queue_app.management.verbs.purge import Purge
from queue_app.management.verbs.status import Status

VERBS: tuple[Verb, ...] = (Status(), Enqueue(), Pause(), Resume(), Purge(), Cancel(), Dead())
"""In the order in which help shows them."""
