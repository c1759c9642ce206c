"""Celery in an environment of its own."""
