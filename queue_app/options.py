"""How a task is enqueued and run: what people write beside a task, checked when it is written.

The names are those of django.tasks where it has them (`queue_name`, `priority`, `run_after`, `takes_context`).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, TypedDict

import msgspec

from queue_app import moments
from queue_app.core.backoff import Backoff, BackoffCallable, Kind, backoff_rule
from queue_app.core.errors import InvalidArgument
from queue_app.core.names import is_unicode, plain_text, valid_idempotency_key, valid_queue
from queue_app.core.showing import shown
from queue_app.core.task import to_max_retries

LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100
MOST_ATTEMPTS = 1_000_000
MOST_TAGS = 20
LONGEST_TAG = 100

Seconds = float | timedelta


class Choices(TypedDict, total=False):
    """What `.using()` and `enqueue()` take. None means what the settings, or nothing at all, say."""

    queue_name: str | None
    """The queue; DEFAULT_QUEUE of the settings without it."""
    priority: int
    """From -100 to 100, default 0: larger ones run first within their queue."""
    max_attempts: int | None
    """Runs in all, until the task is dead; None for no limit; MAX_ATTEMPTS of the settings without it."""
    backoff: Kind | float | Sequence[float] | Backoff | None
    """The wait between attempts: 'fixed', 'linear', 'exponential', seconds, a list of seconds, or a Backoff."""
    timeout: Seconds | None
    """The soft limit of one attempt: then SoftTimeLimit is raised in it, or an `async def` is cancelled. It counts."""
    hard_timeout: Seconds | None
    """The hard limit of one attempt: then the runner process that it runs in is ended, whatever it is doing."""
    keep_result: Seconds | None
    """How long the result is kept after success. Without it a task that succeeded leaves no trace."""
    tags: Sequence[str] | None
    """Up to 20 words by which people find it."""
    delay: Seconds | None
    """Not before so long after the store got it."""
    run_after: datetime | timedelta | None
    """Not before this time. A naive datetime is refused where USE_TZ is on."""
    expires: Seconds | datetime | None
    """From then on (or so long after the call) it is cancelled instead of started; 0 is at once, None never."""
    idempotency_key: str | None
    """The same key in the same queue within a day is the same task: it is not enqueued twice."""
    on_commit: bool | None
    """Whether to wait for COMMIT where a transaction is open; ENQUEUE_ON_COMMIT of the settings without it."""
    using: str | None
    """The alias of the database whose transaction it waits for; "default" without it."""


class Defined(TypedDict, total=False):
    """What `@task` and `@handler` take beside what is theirs alone; see Choices. A backoff may be a callable here."""

    queue_name: str | None
    priority: int
    max_attempts: int | None
    backoff: Kind | float | Sequence[float] | Backoff | BackoffCallable | None
    timeout: Seconds | None
    hard_timeout: Seconds | None
    keep_result: Seconds | None
    tags: Sequence[str] | None
    delay: Seconds | None
    run_after: datetime | timedelta | None
    expires: Seconds | datetime | None
    on_commit: bool | None
    using: str | None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The same, checked and in the form in which it is stored. Seconds; None where the settings decide."""

    queue: str | None = None
    priority: int = 0
    max_retries: int | None = None
    backoff: Backoff | None = None
    backoff_callable: BackoffCallable | None = None
    timeout: float | None = None
    hard_timeout: float | None = None
    keep_result: float = 0.0
    tags: tuple[str, ...] = ()
    delay: float = 0.0
    due_at: float | None = None
    expires_in: float | None = None
    expires_at: float | None = None
    idempotency_key: str | None = None
    on_commit: bool | None = None
    using: str | None = None


NO_OPTIONS = Options()


def define(given: Mapping[str, Any]) -> Options:
    """The options of a definition. Raises TypeError for an unknown one, InvalidArgument for a value that cannot be."""
    if "idempotency_key" in given:
        raise InvalidArgument("idempotency_key is of one enqueue, not of all: .using(idempotency_key=…).enqueue(…)")
    backoff = given.get("backoff")
    if not callable(backoff):
        return choose(NO_OPTIONS, given)
    rest = {name: value for name, value in given.items() if name != "backoff"}
    return msgspec.structs.replace(choose(NO_OPTIONS, rest), backoff_callable=backoff)


def choose(options: Options, given: Mapping[str, Any]) -> Options:
    """`options` with some of them changed. Raises TypeError for an unknown one, InvalidArgument for a bad value."""
    if given.get("delay") is not None and given.get("run_after") is not None:
        raise InvalidArgument("delay and run_after both say when to run; give one of them")
    changes: dict[str, Any] = {}
    for name, value in given.items():
        read = _READERS.get(name)
        if read is None:
            raise TypeError(f"there is no option {name!r}; {_suggestion(name)}")
        changes |= read(value)
    changed = msgspec.structs.replace(options, **changes)
    if changed.timeout and changed.hard_timeout and changed.hard_timeout < changed.timeout:
        raise InvalidArgument(
            f"hard_timeout={changed.hard_timeout:g} is shorter than timeout={changed.timeout:g}; the soft limit "
            "has to come first"
        )
    return changed


def _suggestion(name: str) -> str:
    near = get_close_matches(name, _READERS, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(_READERS)}"


# --- readers: the fields that one option sets -------------------------------------------------------------------------


def _queue_name(value: Any) -> dict[str, Any]:
    return {"queue": None if value is None else valid_queue(value)}


def _priority(value: Any) -> dict[str, Any]:
    return {"priority": _whole("priority", value, LOWEST_PRIORITY, HIGHEST_PRIORITY)}


def _max_attempts(value: Any) -> dict[str, Any]:
    return {"max_retries": to_max_retries(None if value is None else _whole("max_attempts", value, 1, MOST_ATTEMPTS))}


def _backoff(value: Any) -> dict[str, Any]:
    if callable(value):
        raise InvalidArgument("a callable backoff is looked up where its handler is loaded: give it to @task")
    return {"backoff": backoff_rule(value), "backoff_callable": None}


def _limit(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: None if value is None else moments.lifetime_seconds(value, name)}


def _keep_result(value: Any) -> dict[str, Any]:
    return {"keep_result": 0.0 if value is None else moments.delay_seconds(value, "keep_result")}


def _tags(value: Any) -> dict[str, Any]:
    if value is None:
        return {"tags": ()}
    is_list = isinstance(value, (list, tuple, set, frozenset)) and len(value) <= MOST_TAGS
    if not is_list or not all(map(_is_tag, value)):
        raise InvalidArgument(
            f"tags={shown(value)} is no list of up to {MOST_TAGS} words of 1 to {LONGEST_TAG} characters"
        )
    tags = map(plain_text, value)
    return {"tags": tuple(sorted(tags) if isinstance(value, (set, frozenset)) else tags)}


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, str) and 0 < len(tag) <= LONGEST_TAG and is_unicode(tag)


def _delay(value: Any) -> dict[str, Any]:
    return {"delay": 0.0 if value is None else moments.delay_seconds(value), "due_at": None}


def _run_after(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"delay": 0.0, "due_at": None}
        case timedelta():
            return {"delay": moments.delay_seconds(value, "run_after"), "due_at": None}
        case datetime():
            return {"delay": 0.0, "due_at": moments.unix_time(value, "run_after")}
    raise InvalidArgument(f"run_after={shown(value)} is neither a datetime nor a timedelta; seconds are delay=")


def _expires(value: Any) -> dict[str, Any]:
    if value is None:
        return {"expires_in": None, "expires_at": None}
    if isinstance(value, datetime):
        return {"expires_in": None, "expires_at": moments.unix_time(value, "expires")}
    return {"expires_in": moments.delay_seconds(value, "expires"), "expires_at": None}


def _idempotency_key(value: Any) -> dict[str, Any]:
    return {"idempotency_key": None if value is None else valid_idempotency_key(value)}


def _on_commit(value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, bool):
        raise InvalidArgument(f"on_commit={shown(value)} is neither True, False nor None")
    return {"on_commit": value}


def _using(value: Any) -> dict[str, Any]:
    if value is not None and (not isinstance(value, str) or not value):
        raise InvalidArgument(f"using={shown(value)} is not the alias of a database")
    return {"using": None if value is None else plain_text(value)}


def _whole(name: str, value: Any, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidArgument(f"{name}={shown(value)} is not a whole number from {lowest} to {highest}")
    # A member of an IntEnum has a name where a number is wanted.
    return int(value)


_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "queue_name": _queue_name,
    "priority": _priority,
    "max_attempts": _max_attempts,
    "backoff": _backoff,
    "timeout": _limit("timeout"),
    "hard_timeout": _limit("hard_timeout"),
    "keep_result": _keep_result,
    "tags": _tags,
    "delay": _delay,
    "run_after": _run_after,
    "expires": _expires,
    "idempotency_key": _idempotency_key,
    "on_commit": _on_commit,
    "using": _using,
}
