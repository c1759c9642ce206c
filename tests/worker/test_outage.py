"""When the store does not answer: delays, and lines in the log."""

import pytest

from queue_app.core.errors import StoreRefused, StoreUnavailable
from queue_app.testing.clock import FakeClock
from queue_app.worker.outage import LONGEST_DELAY_SECONDS, Complaints, OutageLog, Retries
from tests.worker.kit import lines


def test_delays_double_up_to_a_cap() -> None:
    retries = Retries(first=0.05, longest=2.0, rng=lambda: 0.0)

    delays = [retries.failed() for _ in range(100)]

    assert delays[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    assert delays[-1] == 2.0


def test_delays_are_shortened_at_random_so_that_workers_do_not_return_together() -> None:
    delays = {Retries(first=1.0).failed() for _ in range(20)}

    assert len(delays) > 1
    assert all(0.5 <= delay <= 1.0 for delay in delays)


def test_a_success_begins_anew() -> None:
    retries = Retries(rng=lambda: 0.0)
    first = retries.failed()
    retries.failed()

    retries.succeeded()

    assert retries.failed() == first


def test_the_longest_delay_is_short_enough_to_be_back_soon() -> None:
    assert LONGEST_DELAY_SECONDS <= 2.0


def test_ten_minutes_of_outage_are_a_line_each_half_minute(caplog: pytest.LogCaptureFixture) -> None:
    time = FakeClock()
    log = OutageLog(time.now)

    for _ in range(6_000):
        log.failed("heart", StoreUnavailable("refused"))
        time.advance(0.1)
    log.answered()

    assert len(lines(caplog, "store unavailable")) == 20
    assert lines(caplog, "store answers again") == ["store answers again down=600.0s"]


def test_a_store_that_comes_and_goes_is_no_flood(caplog: pytest.LogCaptureFixture) -> None:
    time = FakeClock()
    log = OutageLog(time.now)

    for _ in range(100):
        log.failed("heart", StoreUnavailable("refused"))
        log.answered()
        time.advance(0.1)

    assert len(caplog.records) == 2


def test_an_answer_without_an_outage_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    OutageLog().answered()

    assert not caplog.records


def test_each_refused_queue_has_its_own_line(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(FakeClock().now)

    for _ in range(5):
        complaints.refused("slot-0", "mail", StoreRefused("queue:mail:inflight is a string, not a zset"))
        complaints.refused("slot-0", "reports", StoreRefused("full"))

    assert lines(caplog, "store refused") == [
        "store refused queue=mail duty=slot-0 error=queue:mail:inflight is a string, not a zset",
        "store refused queue=reports duty=slot-0 error=full",
    ]
