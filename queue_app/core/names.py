"""One rule for each kind of name, the same at every door.

A valid name comes back as plain text. A member of an Enum that is text, too, has another text in a key (`Line.MAIL`)
than in a body (`mail`): its task would be stored under the one and looked for under the other.
"""

import re

from queue_app.core.errors import InvalidName
from queue_app.core.showing import shown

DEFAULT_QUEUE = "tasks"

_QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_TASK_TYPE = re.compile(r"[A-Za-z0-9_.:<>-]{1,200}", re.ASCII)
_TASK_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}", re.ASCII)


def valid_queue(name: str) -> str:
    """The name as plain text, or InvalidName. Letters, digits, `_`, `.` and `-`; 1 to 100 of them."""
    return _valid(_QUEUE, name, "queue name", "1 to 100 letters, digits, '_', '.' or '-'")


def is_queue(name: str) -> bool:
    """Whether a queue can be called so."""
    return _QUEUE.fullmatch(name) is not None


def valid_task_type(name: str) -> str:
    """The type as plain text, or InvalidName. As a queue name, with `:`, `<` and `>`; 1 to 200 characters."""
    return _valid(_TASK_TYPE, name, "task type", "1 to 200 letters, digits, '_', '.', ':', '<', '>' or '-'")


def valid_task_id(name: str) -> str:
    """The id as plain text, or InvalidName. As a queue name, with `:`; 1 to 100 characters."""
    return _valid(_TASK_ID, name, "task id", "1 to 100 letters, digits, '_', '.', ':' or '-'")


def valid_idempotency_key(key: str) -> str:
    """The key as plain text, or InvalidName. Any text of 1 to 200 characters."""
    if not isinstance(key, str) or not 0 < len(key) <= 200 or not is_unicode(key):
        raise InvalidName(f"idempotency key {shown(key)} is not text of 1 to 200 characters")
    return plain_text(key)


def plain_text(text: str) -> str:
    """The same characters without a class of their own, whose text in a format may be another one."""
    return str.__str__(text)


def is_unicode(text: str) -> bool:
    """Not so for half a surrogate pair, which no store can write down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _valid(pattern: re.Pattern[str], name: str, what: str, rule: str) -> str:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise InvalidName(f"{what} {shown(name)} is not {rule}")
    return plain_text(name)
