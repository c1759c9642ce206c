"""The results as tables; the terminal and the document show the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.contenders import everybody
from bench.goals import goals, percent, ratio
from bench.peers.base import Peer
from bench.results import Results
from bench.summary import Summary, summarize

NONE = "–"
DOUBT = "‡"
"""Marks a row with fewer clean runs than were asked for."""


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a head and rows of text. The first column is words, the others are figures."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """For the document."""
        rule = "|" + "---|" + "---:|" * (len(self.head) - 1)
        return "\n".join([_row(self.head), rule, *(_row(row) for row in self.rows)])

    def text(self) -> str:
        """For the terminal: aligned."""
        widths = [max(len(row[column]) for row in (self.head, *self.rows)) for column in range(len(self.head))]
        lines = [_aligned(row, widths) for row in (self.head, *self.rows)]
        return "\n".join([self.title, lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def tables(results: Results) -> list[Table]:
    """All that were measured."""
    made = [
        goals_table(results),
        drain_table(results),
        latency_table(results),
        idle_table(results),
        depth_table(results),
    ]
    return [table for table in made if table.rows]


def goals_table(results: Results) -> Table:
    """What was promised, and what came of it."""
    rows = [(goal.name, goal.wanted, goal.reached, goal.verdict) for goal in goals(results)]
    return Table("Goals", ("goal", "wanted", "measured", ""), rows)


def drain_table(results: Results) -> Table:
    """A row per contender that was measured."""
    head = (
        "drain",
        "tasks/s, median [min – max]",
        "middle 80 %",
        "× BullMQ c4",
        "% of floor",
        "worker CPU µs/task",
        "Redis CPU µs/task",
        "lost, doubled",
        "clean runs (noisy, failed)",
    )
    found = [(peer, summarize(results, f"drain/{peer.key}")) for peer in everybody()]
    return Table("Drain", head, [_drain_row(results, peer, summary) for peer, summary in found if summary])


def latency_table(results: Results) -> Table:
    """A row per contender that was measured."""
    head = ("latency, enqueue call → handler", "p50 ms", "p99 ms", "largest ms", "clean runs (noisy, failed)")
    found = [(peer, summarize(results, f"latency/{peer.key}")) for peer in everybody()]
    names = ("p50_ms", "p99_ms", "max_ms")
    rows = [
        (peer.label, *(spread(summary, name, ".2f") for name in names), runs(summary))
        for peer, summary in found
        if summary
    ]
    return Table("Latency", head, rows)


def idle_table(results: Results) -> Table:
    """One row."""
    summary = summarize(results, "idle/ours")
    head = ("idle", "calls/s", "worker, % of a core", "Redis, % of a core", "clean runs (noisy, failed)")
    if summary is None:
        return Table("Idle", head, [])
    names = ("calls_per_s", "worker_core_percent", "engine_core_percent")
    return Table("Idle", head, [("ForgeQueue", *(spread(summary, name, ".2f") for name in names), runs(summary))])


def depth_table(results: Results) -> Table:
    """A row per depth that was measured."""
    head = ("tasks queued", "µs/task, wall", "worker CPU µs/task", "script µs/task", "clean runs (noisy, failed)")
    found = [(depth, summarize(results, f"depth/{depth}")) for depth in measured_depths(results)]
    names = ("wall_us", "worker_us", "script_us")
    rows = [
        (f"{depth:,}", *(spread(summary, name, ".1f") for name in names), runs(summary))
        for depth, summary in found
        if summary
    ]
    return Table("Depth", head, rows)


def measured_depths(results: Results) -> list[int]:
    """The shallowest first."""
    kinds = {record.trial.partition("/") for record in results.records}
    return sorted(int(depth) for kind, _, depth in kinds if kind == "depth")


def spread(summary: Summary, name: str, form: str = ",.0f") -> str:
    """median [min – max]"""
    values = summary.values(name)
    return f"{summary.median(name):{form}} [{min(values):{form}} – {max(values):{form}}]"


def runs(summary: Summary) -> str:
    """5 (1, 0)"""
    return f"{summary.clean}{DOUBT if summary.is_doubtful else ''} ({summary.noisy}, {summary.failed})"


def _drain_row(results: Results, peer: Peer, summary: Summary) -> tuple[str, ...]:
    to_bullmq, to_floor = ratio(results, peer.key, "bullmq-c4"), ratio(results, peer.key, "floor")
    return (
        peer.label,
        spread(summary, "tasks_per_s"),
        f"{summary.median('middle_tasks_per_s'):,.0f}",
        f"{to_bullmq:.2f}" if to_bullmq else NONE,
        percent(to_floor) if to_floor else NONE,
        f"{summary.median('worker_us'):.1f}",
        f"{summary.median('engine_us'):.1f}",
        f"{summary.lost}, {summary.doubled}",
        runs(summary),
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if not column else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()
