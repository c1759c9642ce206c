"""The verbs of `manage.py forgequeue`."""

from queue_app.management.verbs.base import Verb
from queue_app.management.verbs.changing import Cancel, Delete, Promote, Retry
from queue_app.management.verbs.dead import Dead
from queue_app.management.verbs.enqueue import Enqueue
from queue_app.management.verbs.keeping import InspectKeys, Takeover
from queue_app.management.verbs.pause import Pause, Resume
from queue_app.management.verbs.purge import Purge
from queue_app.management.verbs.queues import Queues
from queue_app.management.verbs.status import Status
from queue_app.management.verbs.tasks import Tasks
from queue_app.management.verbs.watch import Watch

VERBS: tuple[Verb, ...] = (
    Status(),
    Queues(),
    Tasks(),
    Watch(),
    Enqueue(),
    Pause(),
    Resume(),
    Purge(),
    Cancel(),
    Retry(),
    Promote(),
    Delete(),
    Dead(),
    InspectKeys(),
    Takeover(),
)
"""In the order in which help shows them: to look, to act, to keep in order."""
