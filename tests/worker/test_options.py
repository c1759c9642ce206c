"""What a worker is told to be."""

import re
from pathlib import Path

import pytest

from queue_app.core.errors import InvalidArgument, InvalidName
from queue_app.worker.options import WorkerOptions, new_worker_name, queues_of


def test_queues_with_and_without_weights() -> None:
    assert queues_of("a:6,b:3,c") == (("a", 6), ("b", 3), ("c", 1))
    assert queues_of(" mail , tasks:2 ") == (("mail", 1), ("tasks", 2))


@pytest.mark.parametrize("text", ["a:0", "a:-1", "a:x", "a:", "a:1.5", "a:1001", "a:²", "a,a", "a:1,a:2"])
def test_weights_that_are_none(text: str) -> None:
    with pytest.raises(InvalidArgument):
        queues_of(text)


@pytest.mark.parametrize("text", ["", ",", "a,", "a b", "ä", "a:b:1", "x" * 101])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises((InvalidName, InvalidArgument)):
        queues_of(text)


def test_names_are_unique_though_pids_return() -> None:
    assert len({new_worker_name() for _ in range(100)}) == 100


def test_a_name_says_where_it_is() -> None:
    assert re.fullmatch(r"mail-\d+-[0-9a-f]{6}", new_worker_name("mail"))


def test_the_heart_beats_each_third_of_a_lease() -> None:
    assert WorkerOptions(lease_seconds=9.0).beat_seconds == 3.0


def test_every_duty_is_in_a_file_of_its_name() -> None:
    folder = Path(__file__).parents[2] / "queue_app" / "worker"

    assert {path.stem for path in folder.glob("*.py")} >= {
        "loop", "slot", "attempt", "waiter", "heart", "promoter", "reclaimer", "sweeper", "announcer", "handback",
        "batching", "turns", "runner", "worker",
    }  # fmt: skip
