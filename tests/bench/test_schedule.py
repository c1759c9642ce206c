"""Passes are interleaved; noise is measured again, within bounds."""

from collections.abc import Iterator

from bench.errors import RunFailed
from bench.measures.base import Lab, Measured, Trial
from bench.results import Results
from bench.schedule import MAX_FAILURES, line, run_all
from tests.bench.samples import record


class Scripted(Trial):
    """A trial whose runs are told beforehand: a noise in cores, or None for a failure. Then always quiet."""

    def __init__(self, key: str, *noises: float | None) -> None:
        self.key = key
        self._noises: Iterator[float | None] = iter(noises)

    def run(self, lab: Lab) -> Measured:
        noise = next(self._noises, 0.0)
        if noise is None:
            raise RunFailed("stood still")
        return Measured(figures={"tasks_per_s": 1.0}, noise_cores=noise)


def run(results: Results, *trials: Trial, rounds: int = 2, repeats: int = 3) -> list[str]:
    """Run them without a lab; returns the order of the records."""
    run_all(trials, results, None, rounds=rounds, repeats=repeats, say=lambda _: None)  # type: ignore[arg-type]
    return [found.trial for found in results.records]


def test_everybody_is_measured_once_before_anybody_twice(results: Results) -> None:
    assert run(results, Scripted("a"), Scripted("b"), Scripted("c")) == ["a", "b", "c", "a", "b", "c"]


def test_a_noisy_run_is_repeated_in_a_later_pass(results: Results) -> None:
    assert run(results, Scripted("a", 0.9), Scripted("b")) == ["a", "b", "a", "b", "a"]


def test_repeats_are_bounded(results: Results) -> None:
    assert run(results, Scripted("a", *[0.9] * 100)) == ["a"] * 5


def test_what_always_fails_is_given_up_sooner(results: Results) -> None:
    assert run(results, Scripted("a", *[None] * 100), repeats=50) == ["a"] * MAX_FAILURES


def test_a_resumed_run_measures_only_what_is_missing(results: Results) -> None:
    results.add(record("a", tasks_per_s=1.0))
    results.add(record("a", tasks_per_s=1.0))
    results.add(record("b", tasks_per_s=1.0))

    assert run(results, Scripted("a"), Scripted("b")) == ["a", "a", "b", "b"]


def test_a_line_says_what_went_wrong() -> None:
    assert "FAILED: stood still" in line(record("a", error="stood still"))
    assert "NOISY" in line(record("a", noise_cores=0.4, tasks_per_s=1234.5))
