"""Types at a shell, and puts tasks where the verbs find them."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from queue_app.core import codec
from queue_app.core.answers import Enqueue
from queue_app.core.ids import new_id
from queue_app.core.outcomes import Spent
from queue_app.core.task import AttemptError, Task


def forgequeue(*words):
    out = StringIO()
    call_command("forgequeue", *words, stdout=out)
    return out.getvalue()


def fails(*words):
    with pytest.raises(CommandError) as failure:
        forgequeue(*words)
    return failure.value.returncode, str(failure.value)


def put(broker, count=1, **fields):
    tasks = [Task(**{"id": new_id(), "task_type": "send_email"} | fields) for _ in range(count)]
    broker.enqueue_many([Enqueue(task=task) for task in tasks])
    return [task.id for task in tasks]


def kill(broker, count=1):
    ids = put(broker, count)
    error = AttemptError(attempt=1, type="SMTPTimeout", message="no\nanswer", at=0.0)
    for claimed in broker.claim("tasks", holder="w", limit=count):
        dead = Task(id=claimed.lease.task_id, task_type="send_email", attempts=1, errors=(error,))
        broker.settle(Spent(lease=claimed.lease, body=codec.encode(dead)))
    return ids
