"""Somebody who can log in."""

import secrets

from django.contrib.auth import get_user_model

USERNAME = "admin"


def describe() -> str:
    """Make the first superuser and say its password, once; later only say who there is and how to reset."""
    users = get_user_model().objects.filter(is_superuser=True, is_active=True)
    existing = users.order_by("pk").first()
    if existing is not None:
        name = existing.get_username()
        return f"log in as {name}, whom an earlier run made; a new password: ./forge manage changepassword {name}"
    password = secrets.token_urlsafe(12)
    get_user_model().objects.create_superuser(username=USERNAME, password=password)
    return f"log in as {USERNAME} with the password {password} (shown only now)"
