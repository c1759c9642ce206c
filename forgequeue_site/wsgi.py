"""The site for WSGI servers; pages that are live poll there."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forgequeue_site.settings")

application = get_wsgi_application()
