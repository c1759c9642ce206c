"""Reading what the handlers marked: how fast, and whether every task ran once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.mark import RECORD

Mark = tuple[float, float]
"""Start of a handler (seconds, monotonic) and the index of its task."""


class MarksFile:
    """The file that the handlers of one run append to."""

    def __init__(self, path: Path) -> None:
        """Nothing is read or written yet."""
        self.path = path

    def clear(self) -> None:
        """Start a run with an empty file."""
        self.path.write_bytes(b"")

    def count(self) -> int:
        """How many marks there are: one `stat`, cheap enough to ask every few milliseconds."""
        return self.path.stat().st_size // RECORD.size

    def read(self) -> list[Mark]:
        """All marks, by start."""
        data = self.path.read_bytes()
        whole = len(data) - len(data) % RECORD.size
        return sorted(RECORD.iter_unpack(data[:whole]))


@dataclass(frozen=True, slots=True)
class Census:
    """Which of the tasks 0 … expected-1 ran."""

    expected: int
    lost: int
    doubled: int


def census(marks: Sequence[Mark], expected: int) -> Census:
    """Count the tasks that never ran and the runs beyond a task's first."""
    indexes = [int(index) for _, index in marks]
    distinct = set(indexes)
    return Census(expected, lost=expected - len(distinct), doubled=len(indexes) - len(distinct))


def rate(marks: Sequence[Mark]) -> float:
    """Tasks per second from the first start to the last: (n - 1) / (last - first). 0.0 for fewer than two marks."""
    if len(marks) < 2:
        return 0.0
    return (len(marks) - 1) / max(marks[-1][0] - marks[0][0], 1e-9)


def middle(marks: Sequence[Mark], share: float = 0.1) -> Sequence[Mark]:
    """Without the first and the last `share`: no warm-up, no tail."""
    cut = int(len(marks) * share)
    return marks[cut : len(marks) - cut]
