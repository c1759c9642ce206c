"""The smallest host: our app, one task, the engine that the benchmark started."""

import os

SECRET_KEY = "bench"  # noqa: S105 - signs nothing
INSTALLED_APPS = ["queue_app", "bench.ours"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
FORGEQUEUE = {"URL": os.environ.get("BENCH_URL", "memory://")}
