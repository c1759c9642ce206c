"""How long a task waits before its next attempt. Seconds; attempts are counted from 1."""

import random
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import msgspec

from queue_app.core.errors import InvalidArgument
from queue_app.core.showing import shown

Kind = Literal["fixed", "linear", "exponential", "list"]

BackoffCallable = Callable[[int, BaseException], float]
"""Given the attempt that failed and its error, the seconds to wait. It applies only where its handler is loaded."""

MAX_DELAY_SECONDS = 366 * 86_400.0
"""No rule waits longer than a year: further off is a mistake, and floats stay exact to the microsecond."""


_LAST_ATTEMPT = 2**60
"""Attempts beyond this wait as this one does: it is still a float."""


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule that is stored with the task, so that a reclaimer which has no handlers can follow it.

    `fixed` waits `base`; `linear` waits `base * attempt`; `exponential` waits `base * 2 ** (attempt - 1)`;
    `list` waits `delays[attempt - 1]`, and the last one from then on. All but `list` are cut at `cap`, then
    shortened by a random part of at most `jitter` of it, so that what failed together does not return together.
    """

    kind: Kind = "exponential"
    base: float = 1.0
    cap: float = 60.0
    jitter: float = 0.25
    delays: tuple[float, ...] = ()

    def delay_seconds(self, attempt: int, rng: Callable[[], float] = random.random) -> float:
        """The wait after failed attempt number `attempt`; never negative, never above `cap` or a year.

        It trusts no number: the rule and the attempts of a stored task may be anybody's.
        """
        return min(max(self._delay(min(max(attempt, 1), _LAST_ATTEMPT), rng), 0.0), MAX_DELAY_SECONDS)

    def _delay(self, attempt: int, rng: Callable[[], float]) -> float:
        if self.kind == "list" and self.delays:
            return self.delays[min(attempt, len(self.delays)) - 1]
        return min(self.base * self._factor(attempt), self.cap) * (1.0 - self.jitter * rng())

    def _factor(self, attempt: int) -> float:
        if self.kind == "fixed":
            return 1.0
        if self.kind == "linear":
            return float(attempt)
        # 2 ** 60 s is past every cap: the exponent stops there, so no attempt number can overflow a float.
        return 2.0 ** min(attempt - 1, 60)


DEFAULT_BACKOFF = Backoff()


def backoff_rule(value: "str | float | Sequence[float] | Backoff | None") -> Backoff | None:
    """The rule that a person wrote as a name, a number (fixed), a list of delays, or a Backoff; None keeps the default.

    Raises InvalidArgument for anything else, a negative or non-finite number, or an empty list.
    """
    match value:
        case None:
            return None
        case Backoff():
            return _checked(value)
        case "fixed" | "linear" | "exponential":
            return Backoff(kind=value)
        case bool():
            pass
        case int() | float():
            seconds = _number(value)
            return _checked(Backoff(kind="fixed", base=seconds, cap=seconds, jitter=0.0))
        case list() | tuple() if value:
            return _checked(Backoff(kind="list", delays=tuple(_number(each) for each in value)))
    raise InvalidArgument(
        f"backoff={shown(value)} is not 'fixed', 'linear', 'exponential', seconds, a list of seconds, or a Backoff"
    )


def bounded_delay(seconds: object, what: str = "delay") -> float:
    """`seconds` as a float between 0 (also for the past) and a year; InvalidArgument when it is no finite number."""
    return min(max(_number(seconds, what), 0.0), MAX_DELAY_SECONDS)


def _number(value: object, what: str = "backoff") -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(f"{what}={shown(value)} is not a number of seconds")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = float("inf")
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        raise InvalidArgument(f"{what}={shown(value)} is not a finite number of seconds")
    return seconds


def _checked(rule: Backoff) -> Backoff:
    if rule.kind not in get_args(Kind):
        raise InvalidArgument(f"backoff kind={shown(rule.kind)} is not one of {', '.join(get_args(Kind))}")
    numbers = {"base": rule.base, "cap": rule.cap, "jitter": rule.jitter}
    numbers |= {f"delays[{index}]": each for index, each in enumerate(rule.delays)}
    for name, each in numbers.items():
        if not 0.0 <= _number(each, f"backoff {name}") <= MAX_DELAY_SECONDS:
            raise InvalidArgument(f"backoff {name}={each!r} is not between 0 and {MAX_DELAY_SECONDS:.0f} seconds")
    if rule.jitter > 1.0:
        raise InvalidArgument(f"backoff jitter={rule.jitter!r} is a part of the delay: 0 to 1")
    if rule.kind == "list" and not rule.delays:
        raise InvalidArgument("backoff kind 'list' needs at least one delay")
    return rule
