"""When a task runs: each delay or time is now, later, or refused; never an error of another kind, never too early."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone as django_timezone

from queue_app import State, enqueue
from queue_app.core.backoff import MAX_DELAY_SECONDS
from queue_app.core.errors import InvalidArgument
from tests.client.samples import add

NAIVE = datetime(2030, 1, 1, 12)  # noqa: DTZ001 - naive on purpose
YEAR_ONE = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
LAST_MOMENT = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))


@pytest.mark.parametrize(
    "choice",
    [
        *({"delay": delay} for delay in (None, -1, -2e9, -(10**5000), 0, -0.0, timedelta(days=-3), timedelta.min)),
        *({"run_after": when} for when in (None, YEAR_ONE, datetime(1960, 1, 1, tzinfo=UTC), timedelta(seconds=-1))),
        {"run_after": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda choice: repr(choice)[:60] if "delay" not in choice else f"delay {type(choice['delay']).__name__}",
)
def test_nothing_and_the_past_are_now(store, choice):
    result = add.using(**choice).enqueue(1)

    assert store.get(result.id).state is State.READY


@pytest.mark.parametrize(
    ("choice", "seconds"),
    [
        ({"delay": 1e-6}, 1e-6),
        ({"delay": 0.0001}, 0.0001),
        ({"delay": 5}, 5),
        ({"delay": timedelta(minutes=1)}, 60),
        ({"delay": MAX_DELAY_SECONDS}, MAX_DELAY_SECONDS),
        ({"run_after": timedelta(hours=1)}, 3600),
    ],
    ids=repr,
)
def test_a_delay_counts_from_when_the_store_gets_it(store, clock, choice, seconds):
    result = add.using(**choice).enqueue(1)

    snapshot = store.get(result.id)
    assert (snapshot.state, result.state) == (State.SCHEDULED, State.SCHEDULED)
    assert snapshot.at == pytest.approx(clock.now() + seconds, abs=1e-6)


@pytest.mark.parametrize(
    "when",
    [
        datetime(2035, 1, 1, tzinfo=UTC),
        datetime(2035, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
        datetime(9999, 12, 31, tzinfo=UTC),
        LAST_MOMENT,
    ],
    ids=str,
)
def test_a_time_is_kept_exactly_however_far_off(store, when):
    result = add.using(run_after=when).enqueue(1)

    snapshot = store.get(result.id)
    expected = (when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() if when is not LAST_MOMENT else None
    assert snapshot.state is State.SCHEDULED
    assert snapshot.at == snapshot.task.due_at
    assert expected is None or snapshot.at == expected


@pytest.mark.parametrize(
    "delay",
    [
        2**31,
        2**53,
        10**5000,
        1e18,
        MAX_DELAY_SECONDS + 1,
        timedelta(days=400),
        timedelta.max,
        float("inf"),
        float("-inf"),
        float("nan"),
        True,
        "5",
        b"5",
        [5],
        datetime(2030, 1, 1, tzinfo=UTC),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
@pytest.mark.parametrize("option", ["delay", "expires"])
def test_a_delay_that_nobody_means_is_refused_and_named(store, option, delay):
    if option == "expires" and isinstance(delay, datetime):
        return

    with pytest.raises(InvalidArgument, match=f"^{option}="):
        add.using(**{option: delay})


@pytest.mark.parametrize("when", [5, 5.0, "2030-01-01", True, NAIVE.date()], ids=repr)
def test_run_after_is_a_time_or_a_duration(when):
    with pytest.raises(InvalidArgument, match=r"^run_after="):
        add.using(run_after=when)


def test_both_at_once_are_refused_and_the_later_of_two_calls_counts(store, clock):
    with pytest.raises(InvalidArgument, match="give one of them"):
        add.using(delay=5, run_after=timedelta(1))

    later = add.using(run_after=datetime(2035, 1, 1, tzinfo=UTC)).using(delay=5).enqueue(1)
    sooner = add.using(delay=5).using(run_after=None).enqueue(1)

    assert store.get(later.id).at == clock.now() + 5
    assert store.get(sooner.id).state is State.READY


def test_by_type_the_answers_are_the_same(store):
    with pytest.raises(InvalidArgument, match=r"^delay="):
        enqueue("elsewhere", delay=2**31)

    assert store.get(enqueue("elsewhere", delay=-1).id).state is State.READY


# --- naive ------------------------------------------------------------------------------------------------------------


def test_with_use_tz_a_naive_time_is_refused(settings):
    settings.USE_TZ = True

    with pytest.raises(InvalidArgument, match="run_after=2030-01-01T12:00:00 has no time zone"):
        add.using(run_after=NAIVE)


def test_without_use_tz_it_is_in_the_time_zone_of_the_settings(settings, store):
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Tokyo"

    result = add.using(run_after=NAIVE).enqueue(1)

    assert store.get(result.id).at == datetime(2030, 1, 1, 3, tzinfo=UTC).timestamp()


def test_the_time_zone_of_a_request_does_not_matter(settings, store):
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Tokyo"

    with django_timezone.override("Europe/Berlin"):
        result = add.using(run_after=NAIVE).enqueue(1)

    assert store.get(result.id).at == datetime(2030, 1, 1, 3, tzinfo=UTC).timestamp()


# --- expires ----------------------------------------------------------------------------------------------------------


def test_expires_counts_from_the_call(store):
    task = add.using(expires=60).enqueue(1).task

    assert task.expires_at == task.enqueued_at + 60


@pytest.mark.parametrize("expires", [0, -1, timedelta(0)], ids=repr)
def test_zero_is_at_once_and_not_never(store, expires):
    task = add.using(expires=expires).enqueue(1).task

    assert task.expires_at == task.enqueued_at


@pytest.mark.parametrize(
    ("expires", "at"),
    [
        (None, None),
        (YEAR_ONE, 0.0),
        (datetime(2035, 1, 1, tzinfo=UTC), datetime(2035, 1, 1, tzinfo=UTC).timestamp()),
        (datetime(9999, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC).timestamp()),
    ],
    ids=str,
)
def test_a_time_to_expire_is_kept(store, expires, at):
    assert add.using(expires=5).using(expires=expires).enqueue(1).task.expires_at == at


@pytest.mark.parametrize("expires", [NAIVE, NAIVE.date(), "tomorrow"], ids=repr)
def test_other_words_for_it_are_refused(settings, expires):
    settings.USE_TZ = True

    with pytest.raises(InvalidArgument, match=r"^expires="):
        add.using(expires=expires)
