"""`manage.py forgequeue_worker`: runworker, under a name that no other app has."""

from queue_app.management.commands.runworker import Command

__all__ = ["Command"]
