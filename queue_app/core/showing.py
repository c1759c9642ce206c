"""Values of other people in messages of ours: short, and without secrets."""

from urllib.parse import urlsplit


def shown(value: object, limit: int = 80) -> str:
    """How `value` looks, in at most `limit` characters. Never raises: its own words may."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr may raise anything, and a whole number of 5,000 digits does
        return f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def safe_url(url: str) -> str:
    """The URL without user name, password, query and whatever else may be a misplaced secret: fit to be shown."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        path = parts.path if parts.scheme == "unix" or parts.path[1:].isdecimal() else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{path}"
    except ValueError:
        return "<unreadable URL>"
