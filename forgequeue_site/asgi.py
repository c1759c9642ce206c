"""The site for ASGI servers: daphne, uvicorn."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forgequeue_site.settings")

application = get_asgi_application()
