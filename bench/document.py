"""docs/benchmarks.md, written from the results and from nothing else."""

from string import Template

from bench import tables
from bench.contenders import everybody
from bench.files import ROOT
from bench.results import Results
from bench.sampler import NOISY_CORES

TEMPLATE = ROOT / "bench" / "document.md"
FULL_TASKS = 50_000
FULL_ROUNDS = 5
KINDS = ("drain", "enqueue", "enqueue-bulk", "latency", "idle", "depth", "due")


def shortcomings(results: Results) -> str:
    """Why these results are not for the document, or nothing."""
    if results.header["tasks"] < FULL_TASKS or results.header["rounds"] < FULL_ROUNDS:
        return f"a document needs {FULL_TASKS:,} tasks and {FULL_ROUNDS} rounds"
    measured = {record.trial.partition("/")[0] for record in results.records if not record.error}
    missing = [kind for kind in KINDS if kind not in measured]
    return f"{', '.join(missing)} not measured" if missing else ""


def render(results: Results) -> str:
    """The whole document."""
    header = results.header
    return Template(TEMPLATE.read_text()).substitute(
        date=header["started"][:10],
        commit=header["commit"] or "unknown",
        tasks=f"{header['tasks']:,}",
        rounds=header["rounds"],
        latency_tasks=header["latency_tasks"],
        idle_seconds=f"{header['idle_seconds']:g}",
        drained=f"{header['drained']:,}",
        noisy=NOISY_CORES,
        goals=tables.goals_table(results).markdown(),
        drain=tables.drain_table(results).markdown(),
        engines=tables.engines_table(results).markdown(),
        enqueued=f"{header['enqueued']:,}",
        bulk=f"{header['bulk']:,}",
        due_tasks=f"{header['due']:,}",
        enqueue=tables.enqueue_table(results).markdown(),
        due=tables.due_table(results).markdown(),
        left_out=left_out(results),
        latency=tables.latency_table(results).markdown(),
        idle=tables.idle_table(results).markdown(),
        idle_calls=idle_calls(results),
        depth=tables.depth_table(results).markdown(),
        settings=settings(results),
        machine="\n".join(f"- {name}: {value}" for name, value in header["machine"].items()),
        engine=f"{header['engine']}, {header['persistence']}",
        versions=", ".join(f"{name} {number.lstrip('v')}" for name, number in header["versions"].items()),
    )


def left_out(results: Results) -> str:
    """Who could not be measured, and why."""
    missing = [f"- {label}: left out, {reason}" for label, reason in results.header["left_out"].items()]
    return "\n".join(missing) or "- Nobody was left out."


def settings(results: Results) -> str:
    """One line per contender that was measured."""
    measured = {record.trial for record in results.records}
    return "\n".join(f"- {peer.label}: {peer.setting}" for peer in everybody() if f"drain/{peer.key}" in measured)


def idle_calls(results: Results) -> str:
    """What an idle worker sent in the last clean run."""
    notes = [record.note for record in results.of("idle/ours") if record.note]
    return notes[-1] if notes else "not measured"
