"""What the driver calls."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from noop import noop  # noqa: E402 - Django has to be set up first


def enqueue(index: int) -> None:
    """One."""
    noop.enqueue(index)
