"""What was measured is on disk at once, and a run that was cut off goes on from it."""

from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.results import Results
from tests.bench.samples import HEADER, drained, record


def test_records_come_back_as_they_were_kept(results: Results) -> None:
    kept = drained("ours", 50_000, noise_cores=0.1)
    results.add(kept)

    found = Results.load(results.path)

    assert found.records == [kept]
    assert found.header["tasks"] == 50_000


def test_noisy_and_failed_records_do_not_count(results: Results) -> None:
    for added in (drained("ours", 1), drained("ours", 2, noise_cores=0.3), record("drain/ours", error="stood still")):
        results.add(added)

    assert len(results.of("drain/ours")) == 3
    assert len(results.clean("drain/ours")) == 1


def test_a_line_that_was_cut_off_is_left_out_and_does_not_swallow_the_next(results: Results) -> None:
    results.add(drained("ours", 1))
    with results.path.open("a") as lines:
        lines.write('{"trial": "drain/ou')

    resumed = Results.resume(results.path, HEADER)
    resumed.add(drained("huey", 2))

    assert [found.trial for found in Results.load(results.path).records] == ["drain/ours", "drain/huey"]


def test_results_of_other_code_are_not_mixed(results: Results) -> None:
    with pytest.raises(BenchError, match="code differ"):
        Results.resume(results.path, HEADER | {"code": "def"})


def test_more_rounds_may_be_asked_for_on_resume(results: Results) -> None:
    assert Results.resume(results.path, HEADER | {"rounds": 9}).header["rounds"] == 2


def test_a_new_run_keeps_the_last_one(results: Results) -> None:
    Results.begin(results.path, HEADER)

    assert len(list(results.path.parent.glob("*.jsonl"))) == 2


def test_without_results_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="run the benchmark first"):
        Results.resume(tmp_path / "none.jsonl", HEADER)
