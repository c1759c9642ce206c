"""How the queue becomes part of a Django project: its label, its command, and the tasks of the other apps."""

from importlib import import_module

from django.apps import AppConfig
from django.core.management import get_commands
from django.utils.module_loading import autodiscover_modules

from queue_app.conf import read_settings


class QueueAppConfig(AppConfig):
    """A host sees one name: the label `forgequeue`."""

    name = "queue_app"
    label = "forgequeue"
    verbose_name = "ForgeQueue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Claim `runworker` and import the tasks. Starts no thread, opens no connection.

        An error in some `tasks` module goes up as it is, as one in an `admin` module does: a process that silently
        lacks a task would retry it until it is dead. Settings that are wrong are left to the checks, which name them.
        """
        from queue_app import checks

        checks.register_all()
        settings, _ = read_settings()
        if settings.claim_runworker:
            # Otherwise the first app in INSTALLED_APPS has it, and channels has a command of this name.
            get_commands()["runworker"] = self.name
        discover(settings.discover)


def discover(wanted: bool | tuple[str, ...]) -> None:
    """Import `tasks` of every installed app that has one, or exactly the modules named, or nothing."""
    if wanted is True:
        autodiscover_modules("tasks")
    elif wanted:
        for module in wanted:
            import_module(module)
