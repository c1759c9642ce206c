"""The site as a Django app: it brings `manage.py demo` and the sample tasks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """The stand-alone site."""

    name = "forgequeue_site"
    verbose_name = "ForgeQueue site"
