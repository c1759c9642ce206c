"""Settings of the stand-alone site. Everything has a default that works; the environment overrides it.

What a host needs of this is two lines: "queue_app" in INSTALLED_APPS, and FORGEQUEUE["URL"].
"""

from pathlib import Path
from typing import Any

from forgequeue_site import environ

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(environ.text("FORGEQUEUE_VAR_DIR") or BASE_DIR / "var").absolute()

SECRET_KEY = environ.secret("FORGEQUEUE_SECRET_KEY", VAR_DIR / "secret_key")
DEBUG = environ.flag("FORGEQUEUE_DEBUG", default=False)
ALLOWED_HOSTS = environ.names("FORGEQUEUE_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = environ.names("FORGEQUEUE_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "daphne",  # first, so that `runserver` speaks ASGI
    "queue_app",
    "forgequeue_site",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "forgequeue_site.middleware.StaticFiles",
    "forgequeue_site.middleware.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "forgequeue_site.urls"
ASGI_APPLICATION = "forgequeue_site.asgi.application"
WSGI_APPLICATION = "forgequeue_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": VAR_DIR / "db.sqlite3",
        "OPTIONS": {
            # WAL: readers and the one writer do not wait for each other. IMMEDIATE: a transaction that will write
            # queues for the lock (up to `timeout` seconds) instead of failing when it upgrades.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = environ.text("FORGEQUEUE_STATIC_ROOT")
STATICFILES_DIRS = [BASE_DIR / "static"]
# Without a STATIC_ROOT files are served from where they lie: a fresh checkout needs no collectstatic.
WHITENOISE_USE_FINDERS = STATIC_ROOT is None

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"forgequeue": {"level": "INFO"}},
}

FORGEQUEUE: dict[str, Any] = {
    "URL": environ.engine_url("FORGEQUEUE_REDIS_ADDR", "embedded://"),
    "EMBEDDED_DIR": VAR_DIR / "engine",
}
if (concurrency := environ.whole("FORGEQUEUE_WORKER_CONCURRENCY", 1, 1_000)) is not None:
    FORGEQUEUE["CONCURRENCY"] = concurrency
if (batch_size := environ.whole("FORGEQUEUE_BATCH_SIZE", 1, 1_000)) is not None:
    FORGEQUEUE["BATCH_SIZE"] = batch_size
