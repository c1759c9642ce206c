"""The host of the no-op."""

import os

SECRET_KEY = "bench"
USE_TZ = True
INSTALLED_APPS = ["django_tasks_redis"]
DATABASES = {}
TASKS = {
    "default": {
        "BACKEND": "django_tasks_redis.RedisTaskBackend",
        "OPTIONS": {"REDIS_URL": os.environ["BENCH_URL"], "REDIS_RESULT_TTL": 3600, "REDIS_COMPLETED_TASK_TTL": 1},
    }
}
LOGGING = {"version": 1, "root": {"level": "ERROR"}}
