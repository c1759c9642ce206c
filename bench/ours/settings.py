"""The smallest host: our app, one task, the engine that the benchmark started."""

import os

SECRET_KEY = "bench"  # noqa: S105 - signs nothing
INSTALLED_APPS = ["queue_app", "bench.ours"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True

LOG_EACH_TASK = os.environ.get("BENCH_LOG_EACH_TASK") == "1"
FORGEQUEUE = {"URL": os.environ.get("BENCH_URL", "memory://"), "LOG_EACH_TASK": LOG_EACH_TASK}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    # Quiet, as the peers are; with the line per task, what a host would see of it.
    "loggers": {"forgequeue": {"handlers": ["stderr"], "level": "INFO" if LOG_EACH_TASK else "WARNING"}},
}
