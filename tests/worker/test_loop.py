"""A background duty: it goes on, it is started again, or it takes the worker down. It is never silently gone."""

import logging
import threading
from collections.abc import Callable

import pytest

from queue_app.core.errors import StoreRefused, StoreUnavailable
from queue_app.testing.clock import FakeClock
from queue_app.worker.loop import RESTARTS, RESTARTS_WITHIN_SECONDS, Loop
from tests.worker.kit import DeskStub, lines


class Duty(Loop):
    """Does what it is told."""

    def __init__(self, desk: DeskStub, act: Callable[[], float], time: FakeClock | None = None) -> None:
        super().__init__("duty", desk, clock=(time or FakeClock()).now)
        self._act = act

    def run_once(self) -> float:
        return self._act()


def in_turn(*acts: Callable[[], float]) -> Callable[[], float]:
    left = list(acts)

    def act() -> float:
        return left.pop(0)()

    return act


def raises(error: BaseException) -> Callable[[], float]:
    def act() -> float:
        raise error

    return act


@pytest.fixture
def desk() -> DeskStub:
    return DeskStub()


def test_a_step_says_when_the_next_is_due(desk: DeskStub) -> None:
    assert Duty(desk, lambda: 3.5).step() == 3.5


def test_a_duty_knows_when_it_last_succeeded(desk: DeskStub) -> None:
    time = FakeClock()
    duty = Duty(desk, in_turn(lambda: 1.0, raises(StoreUnavailable("gone"))), time)
    time.advance(5)
    duty.step()
    succeeded_at = time.now()
    time.advance(5)
    duty.step()

    assert duty.last_success_at == succeeded_at


def test_an_outage_is_waited_out_and_told_once(desk: DeskStub, caplog: pytest.LogCaptureFixture) -> None:
    duty = Duty(desk, raises(StoreUnavailable("connection refused")))

    delays = [duty.step() for _ in range(200)]

    assert 0 < delays[0] <= 0.05
    assert max(delays) <= 2.0
    assert desk.gave_up == []
    assert lines(caplog, "store unavailable") == ["store unavailable duty=duty down=0.0s error=connection refused"]


def test_a_refusal_is_told_and_waited_out(desk: DeskStub, caplog: pytest.LogCaptureFixture) -> None:
    duty = Duty(desk, raises(StoreRefused("OOM")))

    assert duty.step() > 0
    assert desk.gave_up == []
    assert "OOM" in caplog.text


def test_a_duty_that_dies_is_started_again(desk: DeskStub, caplog: pytest.LogCaptureFixture) -> None:
    duty = Duty(desk, in_turn(raises(KeyError("defect")), lambda: 7.0))

    duty.step()

    assert duty.step() == 7.0
    assert desk.gave_up == []
    assert "Traceback" in caplog.text
    assert lines(caplog, "duty died") == ["duty died duty=duty error=KeyError"]


def test_a_duty_that_dies_again_and_again_takes_the_worker_down(desk: DeskStub) -> None:
    duty = Duty(desk, raises(KeyError("defect")))

    for _ in range(RESTARTS):
        duty.step()
        assert desk.gave_up == []
    duty.step()

    assert [type(error) for error in desk.gave_up] == [KeyError]
    assert duty.is_stopping


def test_deaths_far_apart_do_not_add_up(desk: DeskStub) -> None:
    time = FakeClock()
    duty = Duty(desk, raises(KeyError("defect")), time)

    for _ in range(RESTARTS * 5):
        duty.step()
        time.advance(RESTARTS_WITHIN_SECONDS / 2)

    assert desk.gave_up == []


def test_a_thread_that_ends_unasked_takes_the_worker_down(desk: DeskStub) -> None:
    duty = Duty(desk, raises(SystemExit(3)))

    duty.start()
    duty.join(5)

    assert not duty.is_alive
    assert [type(error) for error in desk.gave_up] == [SystemExit]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_duty_whose_log_raises_takes_the_worker_down(desk: DeskStub) -> None:
    logger = logging.getLogger("forgequeue.worker")

    def refuse(record: logging.LogRecord) -> bool:
        raise AttributeError(record.name)

    duty = Duty(desk, raises(ValueError("a defect")))
    logger.addFilter(refuse)
    try:
        duty.start()
        assert duty.join(5)
    finally:
        logger.removeFilter(refuse)

    assert [type(error) for error in desk.gave_up] == [AttributeError]


def test_stop_ends_it_at_once_though_it_sleeps(desk: DeskStub) -> None:
    ran = threading.Event()

    def act() -> float:
        ran.set()
        return 3_600.0

    duty = Duty(desk, act)
    duty.start()
    assert ran.wait(5)

    duty.stop()

    assert duty.join(5)
    assert desk.gave_up == []


def test_a_nudge_wakes_it(desk: DeskStub) -> None:
    times: list[int] = []
    twice = threading.Event()

    def act() -> float:
        times.append(1)
        if len(times) == 2:
            twice.set()
        return 3_600.0

    duty = Duty(desk, act)
    duty.start()
    duty.nudge()

    assert twice.wait(5)
    duty.stop()
    assert duty.join(5)
