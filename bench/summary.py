"""Medians over the clean records of a trial."""

import math
from dataclasses import dataclass
from statistics import median

from bench.results import Record, Results

STEADY_KINDS = ("latency", "idle", "depth", "due")


@dataclass(frozen=True, slots=True)
class Summary:
    """A trial in figures. Where no record is clean, noisy ones stand in, and `is_doubtful` says so."""

    used: list[Record]
    clean: int
    noisy: int
    failed: int
    lost: int
    doubled: int
    wanted: int

    @property
    def is_doubtful(self) -> bool:
        """Fewer clean runs than were asked for."""
        return self.clean < self.wanted

    def median(self, name: str) -> float:
        """Of the figure `name`."""
        return median(self.values(name))

    def values(self, name: str) -> list[float]:
        """The figure `name` of every record that counts."""
        return [record.figures[name] for record in self.used]


def rounds_of(trial: str, rounds: int) -> int:
    """How many clean runs a trial wants where so many were asked for: fewer where it takes long and moves little."""
    kind = trial.partition("/")[0]
    return math.ceil(rounds * (0.6 if kind in STEADY_KINDS else 1.0))


def summarize(results: Results, trial: str) -> Summary | None:
    """None when the trial gave no figure at all."""
    measured = [record for record in results.of(trial) if not record.error]
    if not measured:
        return None
    clean = [record for record in measured if record.is_clean]
    return Summary(
        used=clean or measured,
        clean=len(clean),
        noisy=len(measured) - len(clean),
        failed=len(results.of(trial)) - len(measured),
        lost=_total(measured, "lost"),
        doubled=_total(measured, "doubled"),
        wanted=rounds_of(trial, int(results.header.get("rounds", 1))),
    )


def _total(records: list[Record], name: str) -> int:
    return int(sum(record.figures.get(name, 0) for record in records))
