"""A rate is counted between starts, and every task is looked for."""

from pathlib import Path

import pytest

from bench.mark import RECORD
from bench.marks import MarksFile, census, middle, rate


def test_the_rate_counts_the_gaps_between_starts() -> None:
    marks = [(10.0 + number * 0.5, float(number)) for number in range(11)]

    assert rate(marks) == pytest.approx(2.0)


def test_one_mark_has_no_rate() -> None:
    assert rate([(1.0, 0.0)]) == 0.0


def test_lost_and_doubled_tasks_are_told_apart() -> None:
    marks = [(1.0, 0.0), (2.0, 1.0), (3.0, 1.0), (4.0, 3.0)]

    found = census(marks, expected=4)

    assert (found.lost, found.doubled) == (1, 1)


def test_the_middle_leaves_both_ends_out() -> None:
    marks = [(float(number), float(number)) for number in range(20)]

    assert [index for _, index in middle(marks)] == list(range(2, 18))


def test_marks_are_read_by_start_and_a_half_written_one_is_left_out(tmp_path: Path) -> None:
    file = MarksFile(tmp_path / "marks")
    file.clear()
    file.path.write_bytes(RECORD.pack(2.0, 0.0) + RECORD.pack(1.0, 1.0) + b"half")

    assert file.count() == 2
    assert file.read() == [(1.0, 1.0), (2.0, 0.0)]
