"""The measurements, on contenders of a few lines, and their arithmetic."""

import pytest

from bench.errors import RunFailed
from bench.measures import base, drain
from bench.measures.base import Lab
from bench.measures.depth import wall_us
from bench.measures.drain import EMBEDDED, WITHOUT_FILE, Drain, OtherEngine
from bench.measures.enqueue import Enqueue
from bench.measures.latency import WARM_UP, figures, percentile
from tests.bench.samples import Script


def test_a_drain_counts_every_task_once(lab: Lab) -> None:
    measured = Drain(Script("for index in tasks: mark(index)"), 500).run(lab)

    assert measured.figures["tasks_per_s"] > 500
    assert (measured.figures["lost"], measured.figures["doubled"]) == (0, 0)


def test_a_task_that_ran_twice_is_told(lab: Lab) -> None:
    measured = Drain(Script("for index in [*tasks, 7, 8]: mark(index)"), 100).run(lab)

    assert (measured.figures["lost"], measured.figures["doubled"]) == (0, 2)


def test_a_second_run_does_not_stand_in_for_a_lost_task(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "STALL_SECONDS", 0.5)

    measured = Drain(Script("for index in [*tasks[1:], 7]: mark(index)"), 100).run(lab)

    assert (measured.figures["lost"], measured.figures["doubled"]) == (1, 1)


def test_a_worker_that_ends_fails_its_run_with_its_last_words(lab: Lab) -> None:
    with pytest.raises(RunFailed, match=r"ended with 1: ValueError: no queue"):
        Drain(Script("raise ValueError('no queue')"), 10).run(lab)


def test_a_worker_that_stands_still_fails_its_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "STALL_SECONDS", 0.5)

    with pytest.raises(RunFailed, match="stood still at 2 of 10"):
        Drain(Script("mark(0); mark(1)"), 10).run(lab)


def test_an_enqueue_is_timed_between_its_two_marks(lab: Lab) -> None:
    measured = Enqueue(Script("mark(0); import time; time.sleep(0.1); mark(50)"), 50, in_bulk=False).run(lab)

    assert 100 < measured.figures["tasks_per_s"] < 500


def test_a_client_that_does_not_come_to_its_end_has_measured_nothing(lab: Lab) -> None:
    with pytest.raises(RunFailed, match="did not come to its end"):
        Enqueue(Script("mark(0)"), 50, in_bulk=False).run(lab)


def test_the_server_is_put_back_as_it_was(lab: Lab) -> None:
    measured = OtherEngine(Script("for index in tasks: mark(index)"), 100, WITHOUT_FILE).run(lab)

    assert measured.figures["tasks"] == 100
    assert lab.engine.client.config_get("appendonly") == {"appendonly": "yes"}


def test_a_server_that_is_not_there_is_told(lab: Lab) -> None:
    with pytest.raises(RunFailed, match="is not installed"):
        OtherEngine(Script(""), 100, EMBEDDED).run(lab)


def test_percentiles_are_of_the_nearest_rank() -> None:
    ordered = [float(number) for number in range(1, 201)]

    assert (percentile(ordered, 50), percentile(ordered, 99), percentile(ordered, 100)) == (100.0, 198.0, 200.0)
    assert percentile([3.0], 50) == 3.0


def test_latency_leaves_the_warm_up_out_and_counts_the_first_start() -> None:
    sends = [(number * 0.05, float(number)) for number in range(WARM_UP + 3)]
    starts = [(at + (9.0 if index < WARM_UP else 0.002), index) for at, index in sends]
    starts.append((99.0, float(WARM_UP)))

    found = figures(sends, starts)

    assert found["tasks"] == 3
    assert found["p99_ms"] == pytest.approx(2.0)


def test_wall_time_leaves_the_first_tenth_out() -> None:
    marks = [(0.0, 0.0)] + [(100.0 + number * 1e-3, float(number)) for number in range(1, 100)]

    assert wall_us(marks) == pytest.approx(1000.0)
