"""The host that the processes of these tests run in: our app, the test's tasks, an engine named by the environment."""

import os

SECRET_KEY = "only-for-tests"
INSTALLED_APPS = ["queue_app", "tests.process.apps.ProcessConfig"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
FORGEQUEUE = {
    "URL": os.environ.get("PROCESS_URL", "memory://"),
    "PREFIX": os.environ.get("PROCESS_PREFIX", ""),
    "LEASE_SECONDS": 1.0,
    "MAX_ATTEMPTS": 4,
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{levelname} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {"forgequeue": {"level": "INFO", "handlers": ["stderr"]}},
}
