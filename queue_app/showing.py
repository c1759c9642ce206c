"""Values of other people in messages of ours."""


def shown(value: object, limit: int = 80) -> str:
    """How `value` looks, in at most `limit` characters. Never raises: its own words may."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr may raise anything, and a whole number of 5,000 digits does
        return f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
