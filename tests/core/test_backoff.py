"""How long a task waits: the rules, their bounds, and what is no rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_app.core.backoff import DEFAULT_BACKOFF, MAX_DELAY_SECONDS, Backoff, backoff_rule, bounded_delay
from queue_app.core.errors import InvalidArgument


def delays(rule, attempts, rng=lambda: 0.0):
    return [rule.delay_seconds(attempt, rng) for attempt in attempts]


class TestRules:
    def test_exponential_doubles_up_to_its_cap(self):
        assert delays(Backoff(), range(1, 9)) == [1, 2, 4, 8, 16, 32, 60, 60]

    def test_linear_grows_by_its_base(self):
        assert delays(Backoff(kind="linear", base=5, cap=12), [1, 2, 3]) == [5, 10, 12]

    def test_fixed_stays(self):
        assert delays(Backoff(kind="fixed", base=7), [1, 50]) == [7, 7]

    def test_a_list_ends_with_its_last(self):
        assert delays(Backoff(kind="list", delays=(1, 600)), [1, 2, 3, 99]) == [1, 600, 600, 600]

    def test_jitter_takes_away_at_most_its_part(self):
        assert DEFAULT_BACKOFF.delay_seconds(3, lambda: 1.0) == 3.0
        assert DEFAULT_BACKOFF.delay_seconds(3, lambda: 0.0) == 4.0

    @given(st.integers(min_value=1, max_value=10**18), st.sampled_from(["fixed", "linear", "exponential"]))
    def test_no_attempt_number_overflows_or_passes_the_cap(self, attempt, kind):
        delay = Backoff(kind=kind).delay_seconds(attempt)

        assert 0 <= delay <= 60


class TestWhatPeopleWrite:
    def test_names_numbers_and_lists(self):
        assert backoff_rule(None) is None
        assert backoff_rule("linear") == Backoff(kind="linear")
        assert backoff_rule(5).delay_seconds(9) == 5
        assert backoff_rule([1, 2.5]).delays == (1.0, 2.5)

    @pytest.mark.parametrize(
        "value",
        [
            "sometimes",
            True,
            -1,
            math.nan,
            math.inf,
            [],
            [1, -1],
            [1, "2"],
            {},
            pytest.param(10**5000, id="huge"),
            Backoff(jitter=2),
        ],
    )
    def test_what_is_no_rule_is_refused(self, value):
        with pytest.raises(InvalidArgument, match="backoff"):
            backoff_rule(value)


class TestBoundedDelay:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            (0, 0),
            (-1, 0),
            (-2e9, 0),
            (0.0001, 0.0001),
            (1e-9, 1e-9),
            (2**31, MAX_DELAY_SECONDS),
            (1e18, MAX_DELAY_SECONDS),
        ],
    )
    def test_the_past_is_now_and_the_far_future_is_bounded(self, value, seconds):
        assert bounded_delay(value) == seconds

    @pytest.mark.parametrize(
        "value", [math.inf, -math.inf, math.nan, True, "5", None, pytest.param(10**5000, id="huge")]
    )
    def test_what_is_no_number_of_seconds_is_refused(self, value):
        with pytest.raises(InvalidArgument, match="delay="):
            bounded_delay(value)
