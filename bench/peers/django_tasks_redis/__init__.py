"""django-tasks-redis in an environment of its own."""
