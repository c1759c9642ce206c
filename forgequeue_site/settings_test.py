"""Settings of the test suite: nothing on disk, no engine that is not asked for."""

import os

# Before the settings are read: a test run leaves no var/secret_key behind.
os.environ.setdefault("FORGEQUEUE_SECRET_KEY", "only-for-tests")

from forgequeue_site.settings import *  # noqa: F403

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
FORGEQUEUE = {"URL": "memory://"}
