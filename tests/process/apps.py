"""Makes the tasks here an app, so that they are found as those of any host."""

from pathlib import Path

from django.apps import AppConfig


class ProcessConfig(AppConfig):
    """The tests' own app."""

    name = "tests.process"
    label = "process"
    path = str(Path(__file__).parent)
