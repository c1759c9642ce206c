"""What we said we would reach, beside what was reached."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.results import Results
from bench.summary import summarize

DEPTHS = (10_000, 100_000, 1_000_000)
FLAT = 0.20
"""How far a task's cost may move between the shallowest queue and any deeper one."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and its bound. `figure` is None when it was not measured."""

    name: str
    bound: float
    figure: float | None
    show: Callable[[float], str]
    is_floor: bool = False
    """The figure must be at least the bound, not at most."""

    @property
    def verdict(self) -> str:
        """Met, missed, or not measured."""
        if self.figure is None:
            return "not measured"
        met = self.figure >= self.bound if self.is_floor else self.figure <= self.bound
        return "met" if met else "missed"

    @property
    def wanted(self) -> str:
        """The bound with its sign."""
        return f"{'≥' if self.is_floor else '≤'} {self.show(self.bound)}"

    @property
    def reached(self) -> str:
        """The figure, or a dash."""
        return "–" if self.figure is None else self.show(self.figure)


def goals(results: Results) -> list[Goal]:
    """All of them, in the order of the tables."""
    return [
        Goal(
            "drain, default settings, × BullMQ at concurrency 4", 3.5, ratio(results, "ours", "bullmq-c4"), times, True
        ),
        Goal("drain, default settings, share of the floor", 0.40, ratio(results, "ours", "floor"), percent, True),
        Goal("drain, batch 1, × BullMQ at concurrency 4", 0.4, ratio(results, "ours-b1", "bullmq-c4"), times, True),
        Goal("latency p50", 1.0, figure(results, "latency/ours", "p50_ms"), milliseconds),
        Goal("latency p99", 3.0, figure(results, "latency/ours", "p99_ms"), milliseconds),
        Goal("latency p50, × the quickest peer's", 1.0, latency_ratio(results), times),
        Goal("enqueue one by one, × a bare EVALSHA", 0.8, enqueue_ratio(results, "enqueue", "floor"), times, True),
        Goal(
            "enqueue in bulk, × BullMQ's addBulk", 1.5, enqueue_ratio(results, "enqueue-bulk", "bullmq-c4"), times, True
        ),
        Goal("two runners, × one", 1.2, ratio(results, "ours-p2", "ours"), times, True),
        Goal("300,000 due at once: longest PING", 50.0, figure(results, "due/300000", "ping_max_ms"), milliseconds),
        Goal("idle: calls to Redis", 1.0, figure(results, "idle/ours", "calls_per_s"), per_second),
        Goal("idle: processor", 0.005, idle_share(results), percent),
        Goal("depth: change of a task's cost, 10,000 to 1,000,000", FLAT, depth_change(results), percent),
    ]


def latency_ratio(results: Results) -> float | None:
    """Our median p50 over the smallest of the peers'."""
    kinds = {record.trial for record in results.records if record.trial.startswith("latency/")}
    theirs = [figure(results, trial, "p50_ms") for trial in kinds - {"latency/ours", "latency/floor"}]
    mine, measured = figure(results, "latency/ours", "p50_ms"), [each for each in theirs if each]
    return mine / min(measured) if mine and measured else None


def enqueue_ratio(results: Results, kind: str, against: str) -> float | None:
    """Our tasks per second over those of another."""
    mine, theirs = (figure(results, f"{kind}/{key}", "tasks_per_s") for key in ("ours", against))
    return mine / theirs if mine and theirs else None


def ratio(results: Results, contender: str, against: str) -> float | None:
    """Median drain of one over that of the other."""
    mine, theirs = speed(results, contender), speed(results, against)
    return mine / theirs if mine and theirs else None


def speed(results: Results, contender: str) -> float | None:
    """Median tasks per second."""
    return figure(results, f"drain/{contender}", "tasks_per_s")


def figure(results: Results, trial: str, name: str) -> float | None:
    """The median of a figure."""
    found = summarize(results, trial)
    return found.median(name) if found else None


def idle_share(results: Results) -> float | None:
    """Share of one core that an idle worker uses."""
    used = figure(results, "idle/ours", "worker_core_percent")
    return None if used is None else used / 100


def depth_change(results: Results) -> float | None:
    """The largest change of wall time per task against the shallowest queue; None unless every depth was measured."""
    costs = [figure(results, f"depth/{depth}", "wall_us") for depth in DEPTHS]
    if None in costs:
        return None
    first, *others = (cost for cost in costs if cost is not None)
    return max(abs(cost / first - 1) for cost in others)


def times(value: float) -> str:
    """3.51 ×"""
    return f"{value:.2f} ×"


def percent(value: float) -> str:
    """0.5 % and 40 %"""
    return f"{value * 100:.2g} %" if value < 0.01 else f"{value * 100:.0f} %"


def milliseconds(value: float) -> str:
    """0.85 ms"""
    return f"{value:.2f} ms"


def per_second(value: float) -> str:
    """0.7 /s"""
    return f"{value:.2f} /s"
