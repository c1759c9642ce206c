"""The order of measurements: pass after pass over all of them, so that a slow hour hits everybody alike."""

from collections.abc import Callable, Sequence

from bench.errors import RunFailed
from bench.measures.base import Lab, Trial
from bench.results import Record, Results, now
from bench.summary import rounds_of

Say = Callable[[str], None]
MAX_FAILURES = 3
"""A trial that failed so often will not get better."""


def run_all(
    trials: Sequence[Trial], results: Results, lab: Lab, *, rounds: int, repeats: int, say: Say = print
) -> None:
    """Measure each trial until it has `rounds` clean records, or has been tried `rounds + repeats` times."""
    for number in range(1, rounds + repeats + 1):
        due = [trial for trial in trials if _is_due(trial, results, rounds_of(trial.key, rounds), repeats)]
        if not due:
            return
        say(f"pass {number}: {len(due)} of {len(trials)} measurements")
        for trial in due:
            record = measure(trial, lab)
            results.add(record)
            say("  " + line(record))


def expected_seconds(trials: Sequence[Trial], rounds: int) -> float:
    """About how long all of it takes on a quiet machine."""
    return sum(trial.seconds * rounds_of(trial.key, rounds) for trial in trials)


def measure(trial: Trial, lab: Lab) -> Record:
    """One measurement, as a record, whatever became of it."""
    try:
        measured = trial.run(lab)
    except RunFailed as error:
        return Record(trial=trial.key, at=now(), figures={}, error=str(error))
    return Record(
        trial=trial.key,
        at=now(),
        noise_cores=round(measured.noise_cores, 3),
        figures={name: round(value, 4) for name, value in measured.figures.items()},
        note=measured.note,
    )


def line(record: Record) -> str:
    """A record for the terminal."""
    if record.error:
        return f"{record.trial:22} FAILED: {record.error}"
    figures = "  ".join(
        f"{name} {value:,.4g}" if value < 1000 else f"{name} {value:,.0f}" for name, value in record.figures.items()
    )
    noisy = f"  NOISY: others took {record.noise_cores:.2f} cores" if record.is_noisy else ""
    return f"{record.trial:22} {figures}{noisy}"


def _is_due(trial: Trial, results: Results, rounds: int, repeats: int) -> bool:
    records = results.of(trial.key)
    failures = sum(1 for record in records if record.error)
    return len(results.clean(trial.key)) < rounds and len(records) < rounds + repeats and failures < MAX_FAILURES
