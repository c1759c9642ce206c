"""The results as tables; the terminal and the document show the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.contenders import OURS, everybody
from bench.goals import figure, goals, percent, ratio
from bench.measures.drain import WHERE
from bench.measures.enqueue import BULK, SINGLE
from bench.peers.base import Peer
from bench.results import Results
from bench.summary import Summary, summarize

NONE = "–"
DOUBT = "‡"
"""Marks a row with fewer clean runs than were asked for."""
WON = " ◆"
"""Marks a figure of a peer that is better than ours."""


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
        engines_table(results),
        enqueue_table(results),
        latency_table(results),
        idle_table(results),
        depth_table(results),
        due_table(results),
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
        "tasks",
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


def engines_table(results: Results) -> Table:
    """Three contenders on other servers, beside the main one."""
    head = ("drain elsewhere", *(["main server", *WHERE.values()]), "clean runs (noisy, failed)")
    rows = []
    for peer in everybody():
        elsewhere = [summarize(results, f"{where}/{peer.key}") for where in WHERE]
        main = summarize(results, f"drain/{peer.key}")
        if main and any(elsewhere):
            cells = [spread(each, "tasks_per_s") if each else NONE for each in (main, *elsewhere)]
            rows.append((peer.label, *cells, ", ".join(runs(each) if each else NONE for each in elsewhere)))
    return Table("Engines", head, rows)


def enqueue_table(results: Results) -> Table:
    """A row per contender; WON marks who is faster than ours."""
    head = ("enqueue, tasks/s", "one by one", "× ours", "in bulk", "× ours", "clean runs (noisy, failed)")
    rows = []
    for peer in everybody():
        single, bulk = (summarize(results, f"{kind}/{peer.key}") for kind in (SINGLE, BULK))
        if single:
            cells = [
                cell
                for kind, summary in ((SINGLE, single), (BULK, bulk))
                for cell in (
                    _won(results, f"{kind}/ours", "tasks_per_s", peer, summary, ",.0f", larger=True),
                    _times_ours(results, f"{kind}/ours", "tasks_per_s", summary),
                )
            ]
            rows.append((peer.label, *cells, ", ".join(runs(each) for each in (single, bulk) if each)))
    return Table("Enqueue", head, rows)


def latency_table(results: Results) -> Table:
    """A row per contender that was measured; WON marks who is quicker than ours."""
    head = ("latency, enqueue call → handler", "p50 ms", "p99 ms", "largest ms", "clean runs (noisy, failed)")
    return Table("Latency", head, _compared(results, "latency", ("p50_ms", "p99_ms", "max_ms"), ".2f"))


def idle_table(results: Results) -> Table:
    """A row per contender that was measured; WON marks who needs less than ours."""
    head = (
        "idle",
        "calls/s",
        "worker, % of a core",
        "Redis, % of a core",
        "worker's memory, MB",
        "clean runs (noisy, failed)",
        "Redis bytes per queued task",
    )
    names = ("calls_per_s", "worker_core_percent", "engine_core_percent", "memory_mb")
    rows = [
        (*row, _won(results, "drain/ours", "task_bytes", peer, summarize(results, f"drain/{peer.key}"), ",.0f"))
        for peer, row in _rows_of(results, "idle", names, ".2f")
    ]
    return Table("Idle", head, rows)


def due_table(results: Results) -> Table:
    """One row for each number of tasks."""
    head = ("due at once", "last one started after, s", "PING p50 ms", "PING p99 ms", "PING largest ms", "clean runs")
    names = ("last_after_s", "ping_p50_ms", "ping_p99_ms", "ping_max_ms")
    trials = sorted({record.trial for record in results.records if record.trial.startswith("due/")})
    found = [(trial, summarize(results, trial)) for trial in trials]
    rows = [
        (f"{int(trial.partition('/')[2]):,}", *(spread(summary, name, ".2f") for name in names), runs(summary))
        for trial, summary in found
        if summary
    ]
    return Table("Due", head, rows)


def _compared(results: Results, kind: str, names: Sequence[str], form: str) -> list[tuple[str, ...]]:
    return [row for _, row in _rows_of(results, kind, names, form)]


def _rows_of(results: Results, kind: str, names: Sequence[str], form: str) -> list[tuple[Peer, tuple[str, ...]]]:
    """A row for each contender: the figures of a kind in which less is better."""
    found = [(peer, summarize(results, f"{kind}/{peer.key}")) for peer in everybody()]
    return [
        (
            peer,
            (peer.label, *(_won(results, f"{kind}/ours", name, peer, summary, form) for name in names), runs(summary)),
        )
        for peer, summary in found
        if summary
    ]


def _won(
    results: Results, ours: str, name: str, peer: Peer, summary: Summary | None, form: str, *, larger: bool = False
) -> str:
    """A figure, with WON behind it where it is better than ours."""
    if summary is None or name not in summary.used[0].figures:
        return NONE
    mine, theirs = figure(results, ours, name), summary.median(name)
    is_better = mine is not None and (theirs > mine if larger else theirs < mine)
    is_other = peer.key != OURS.key and peer.key != "floor"
    return spread(summary, name, form) + (WON if is_better and is_other else "")


def _times_ours(results: Results, ours: str, name: str, summary: Summary | None) -> str:
    mine = figure(results, ours, name)
    return f"{summary.median(name) / mine:.2f}" if summary and mine else NONE


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
        f"{summary.median('tasks'):,.0f}",
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
