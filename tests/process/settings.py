"""The host that the processes of these tests run in: our app, the test's tasks, an engine named by the environment."""

import os
import time

if clock := os.environ.get("PROCESS_CLOCK"):
    # This process's clock is wrong by so many seconds, or jumps back an hour in every other second.
    now = time.time
    time.time = lambda: now() - 3_600.0 * (now() % 2 < 1) if clock == "jump" else now() + float(clock)

SECRET_KEY = "only-for-tests"
# The worker of an older release has not got our tasks.
WITH_TASKS = not os.environ.get("PROCESS_WITHOUT_TASKS")
INSTALLED_APPS = ["queue_app", *(["tests.process.apps.ProcessConfig"] if WITH_TASKS else [])]
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
