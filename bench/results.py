"""The results of a run: JSON lines, one per measurement, after a line that says what was measured on what.

A run that was cut off goes on from its file: what has enough clean records is not measured again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.sampler import NOISY_CORES

FORMAT = 1
SAME = (
    "format",
    "tasks",
    "latency_tasks",
    "idle_seconds",
    "drained",
    "enqueued",
    "bulk",
    "due",
    "engine",
    "persistence",
    "machine",
    "code",
)
"""What must agree between two parts of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement: its figures, or the error that left it without."""

    trial: str
    at: str
    noise_cores: float = 0.0
    figures: Mapping[str, float]
    note: str = ""
    error: str = ""

    @property
    def is_noisy(self) -> bool:
        """Others took too much of the machine."""
        return self.noise_cores > NOISY_CORES

    @property
    def is_clean(self) -> bool:
        """It counts."""
        return not self.error and not self.is_noisy


class Results:
    """A header and the records so far; each new one is on disk when `add` returns."""

    def __init__(self, path: Path, header: Mapping[str, Any], records: list[Record]) -> None:
        """Use `begin`, `load` or `resume`."""
        self.path = path
        self.header = header
        self.records = records

    @classmethod
    def begin(cls, path: Path, header: Mapping[str, Any]) -> "Results":
        """A new file; one that is there is kept under the date it began."""
        if path.exists():
            path.rename(path.with_name(f"{path.stem}-{_first_line(path).get('started', 'old')}.jsonl"))
        path.write_text(json.dumps({"format": FORMAT, **header}) + "\n")
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> "Results":
        """What the file holds. A last line that was cut off is left out."""
        if not path.exists():
            raise BenchError(f"there are no results in {path}: run the benchmark first")
        header, *lines = path.read_text().splitlines() or ["{}"]
        return cls(path, json.loads(header), [Record(**fields) for line in lines if (fields := _parsed(line))])

    @classmethod
    def resume(cls, path: Path, header: Mapping[str, Any]) -> "Results":
        """Go on with the file. Raises BenchError when it measured something else, and says what differs."""
        found = cls.load(path)
        wanted = {"format": FORMAT, **header}
        differing = [name for name in SAME if found.header.get(name) != wanted.get(name)]
        if differing:
            raise BenchError(f"{path} cannot be resumed: {', '.join(differing)} differ; run without --resume")
        _end_last_line(path)
        return found

    def add(self, record: Record) -> None:
        """Keep it."""
        with self.path.open("a") as lines:
            lines.write(json.dumps(asdict(record)) + "\n")
        self.records.append(record)

    def of(self, trial: str) -> list[Record]:
        """All records of a trial, oldest first."""
        return [record for record in self.records if record.trial == trial]

    def clean(self, trial: str) -> list[Record]:
        """Those that count."""
        return [record for record in self.of(trial) if record.is_clean]


def now() -> str:
    """The time of day in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parsed(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


def _first_line(path: Path) -> dict[str, Any]:
    with path.open() as lines:
        return _parsed(lines.readline())


def _end_last_line(path: Path) -> None:
    """A record that was cut off must not swallow the next one."""
    text = path.read_text()
    if not text.endswith("\n"):
        path.write_text(text + "\n")
