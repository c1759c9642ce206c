"""The command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("drain", "engines", "enqueue", "latency", "idle", "depth", "due")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to measure, how often, on what."""

    only: tuple[str, ...]
    contenders: tuple[str, ...]
    rounds: int
    repeats: int
    tasks: int
    latency_tasks: int
    idle_seconds: float
    drained: int
    enqueued: int
    bulk: int
    due: int
    depths: tuple[int, ...]
    quick: bool
    resume: bool
    report: bool
    redis_server: str
    redis_url: str
    cache: Path | None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Options from the command line. `--quick` changes defaults, not what was asked for."""
    asked = {name: value for name, value in vars(_parser().parse_args(arguments)).items() if value is not None}
    return Options(**(QUICK if asked["quick"] else FULL) | asked)


FULL: dict[str, Any] = {
    "only": KINDS,
    "contenders": (),
    "rounds": 5,
    "tasks": 50_000,
    "latency_tasks": 100,
    "idle_seconds": 10.0,
    "drained": 20_000,
    "enqueued": 5_000,
    "bulk": 20_000,
    "due": 300_000,
    "depths": (10_000, 100_000, 1_000_000),
    "cache": None,
}
QUICK = FULL | {
    "rounds": 1,
    "tasks": 5_000,
    "latency_tasks": 50,
    "idle_seconds": 5.0,
    "drained": 5_000,
    "enqueued": 1_000,
    "bulk": 5_000,
    "due": 20_000,
    "depths": (10_000, 50_000),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures ForgeQueue and its peers side by side and writes docs/benchmarks.md."
    )
    what = parser.add_argument_group("what")
    what.add_argument("--only", type=_kinds, metavar="KIND,…", help=f"of {', '.join(KINDS)} (default: all)")
    what.add_argument("--contenders", type=_words, metavar="KEY,…", help="who takes part (default: all)")
    what.add_argument("--rounds", type=_rounds, help="clean runs of each (default: 5)")
    what.add_argument("--repeats", type=int, default=5, help="how many noisy or failed runs are repeated (default: 5)")
    what.add_argument("--tasks", type=_count, help="tasks to drain (default: 50,000)")
    what.add_argument("--latency-tasks", type=_count, help="tasks sent to an idle worker (default: 100)")
    what.add_argument("--idle-seconds", type=float, help="how long an idle worker is watched (default: 10)")
    what.add_argument("--drained", type=_count, help="tasks drained from each depth (default: 20,000)")
    what.add_argument("--depths", type=_counts, metavar="N,…", help="depths (default: 10000,100000,1000000)")
    what.add_argument("--enqueued", type=_count, help="tasks that a client enqueues one by one (default: 5,000)")
    what.add_argument("--bulk", type=_count, help="tasks that it enqueues in bulk (default: 20,000)")
    what.add_argument("--due", type=_count, help="tasks that fall due at the same moment (default: 300,000)")
    what.add_argument("--quick", action="store_true", help="few tasks, one round: a first impression")
    how = parser.add_argument_group("how")
    how.add_argument("--resume", action="store_true", help="go on with the last run")
    how.add_argument("--report", action="store_true", help="measure nothing: tables and document from the last run")
    how.add_argument("--redis-server", default="redis-server", metavar="BINARY", help="the server to start")
    how.add_argument(
        "--redis-url", default="", metavar="URL", help="use this server instead; its database must be empty"
    )
    how.add_argument("--cache", type=Path, metavar="DIR", help="environments, logs, results (default: var/bench)")
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _kinds(text: str) -> tuple[str, ...]:
    if unknown := [word for word in _words(text) if word not in KINDS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(KINDS)}")
    return _words(text)


def _count(text: str) -> int:
    if (number := int(text.replace(",", "").replace("_", ""))) < 2:
        raise argparse.ArgumentTypeError("at least 2")
    return number


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_count(word) for word in _words(text))


def _rounds(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
