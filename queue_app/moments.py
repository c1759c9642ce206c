"""When a task runs and until when it is worth running: what people may write, the same at every door.

A time or delay in the past means now. Something that is no finite number of seconds is refused, and so is a delay of
more than a year: nobody means 2**31 seconds, and to shorten it would run the task before its time.
"""

from datetime import datetime, timedelta

from django.conf import settings as django_settings
from django.utils import timezone

from queue_app.core.backoff import MAX_DELAY_SECONDS, bounded_delay
from queue_app.core.errors import InvalidArgument
from queue_app.core.showing import shown


def delay_seconds(value: object, what: str = "delay") -> float:
    """`value`, a number of seconds or a timedelta, as seconds from now; 0 for the past. Raises InvalidArgument."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, (int, float)) and MAX_DELAY_SECONDS < number < float("inf"):
        raise InvalidArgument(
            f"{what}={shown(value)} is longer than {MAX_DELAY_SECONDS:.0f} seconds (a year); "
            "for a day further off give a datetime"
        )
    return 0.0 if isinstance(number, int) and number < 0 else bounded_delay(number, what)


def lifetime_seconds(value: object, what: str) -> float:
    """A duration that has to be more than nothing: a time limit. Raises InvalidArgument."""
    seconds = delay_seconds(value, what)
    if seconds <= 0.0:
        raise InvalidArgument(f"{what}={shown(value)} is not more than 0 seconds; leave it out for no limit")
    return seconds


def unix_time(value: datetime, what: str) -> float:
    """A datetime as Unix seconds, 0 for what is before 1970.

    With USE_TZ a naive one is refused, since nobody knows which hour it means; without, it is in TIME_ZONE.
    """
    if timezone.is_naive(value):
        if django_settings.USE_TZ:
            raise InvalidArgument(f"{what}={value.isoformat()} has no time zone; use django.utils.timezone.now() + …")
        value = _in_default_zone(value, what)
    return max((value - _EPOCH).total_seconds(), 0.0)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.get_fixed_timezone(0))


def _in_default_zone(value: datetime, what: str) -> datetime:
    try:
        return timezone.make_aware(value, timezone.get_default_timezone())
    except (OverflowError, ValueError) as error:
        raise InvalidArgument(f"{what}={value.isoformat()} has no meaning in TIME_ZONE") from error
