"""`python -m bench`: measure, print, write docs/benchmarks.md."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import document, engine, machine
from bench.contenders import FLOOR, OURS, chosen
from bench.engine import Engine
from bench.errors import BenchError, Unavailable
from bench.files import DOCUMENT, cache_folder, memory_folder
from bench.marks import MarksFile
from bench.measures.base import Lab, Trial
from bench.measures.depth import Depth
from bench.measures.drain import Drain
from bench.measures.idle import Idle
from bench.measures.latency import Latency
from bench.options import Options, parse
from bench.peers.base import Peer
from bench.results import Results, now
from bench.schedule import run_all
from bench.tables import tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 with one line on what is missing."""
    options = parse(arguments)
    try:
        results = _last(options) if options.report else measure(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbench: stopped; --resume goes on from here", file=sys.stderr)
        return 130
    show(results)
    return 0


def measure(options: Options) -> Results:
    """The whole run."""
    machine.require_linux()
    cache = cache_folder(options.cache)
    (cache / "logs").mkdir(exist_ok=True)
    peers = install(chosen(list(options.contenders)), cache) if "drain" in options.only else []
    with _engine(options, cache) as server, memory_folder() as memory:
        results = _results(options, cache, header(options, server, peers))
        lab = Lab(engine=server, marks=MarksFile(Path(memory) / "marks"), logs=cache / "logs")
        run_all(trials(options, peers), results, lab, rounds=options.rounds, repeats=options.repeats)
    return results


def install(peers: Sequence[Peer], cache: Path) -> list[Peer]:
    """Make everybody's environment; who cannot run here is named and left out."""
    able = []
    for peer in peers:
        try:
            peer.install(cache)
        except Unavailable as error:
            print(f"{peer.label} is left out: {error}")
        else:
            able.append(peer)
    return able


def trials(options: Options, peers: Sequence[Peer]) -> list[Trial]:
    """What was asked for, in the order of a pass."""
    made: dict[str, list[Trial]] = {
        "drain": [Drain(peer, options.tasks) for peer in peers],
        "latency": [Latency(peer, options.latency_tasks) for peer in (OURS, FLOOR)],
        "idle": [Idle(OURS, options.idle_seconds)],
        "depth": [Depth(OURS, depth, options.drained) for depth in options.depths],
    }
    return [trial for kind, some in made.items() if kind in options.only for trial in some]


def header(options: Options, server: Engine, peers: Sequence[Peer]) -> dict[str, Any]:
    """The first line of the results: what was measured, on what."""
    versions = dict(machine.interpreters())
    for peer in (OURS, *peers):
        versions |= {name: number for name, number in peer.versions().items() if name not in versions}
    return {
        "started": now(),
        "rounds": options.rounds,
        "tasks": options.tasks,
        "latency_tasks": options.latency_tasks,
        "idle_seconds": options.idle_seconds,
        "drained": options.drained,
        "engine": server.version,
        "persistence": server.persistence,
        "machine": machine.describe(),
        "versions": versions,
        "code": machine.code_fingerprint(),
        "commit": machine.commit(),
    }


def show(results: Results) -> None:
    """Tables to the terminal, and the document where the results are good for one."""
    for table in tables(results):
        print(f"\n{table.text()}")
    print(f"\nresults: {results.path}")
    if reason := document.shortcomings(results):
        print(f"docs/benchmarks.md is left as it is: {reason}")
        return
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(document.render(results))
    print("docs/benchmarks.md is written")


@contextmanager
def _engine(options: Options, cache: Path) -> Iterator[Engine]:
    if options.redis_url:
        yield engine.attached(options.redis_url)
        return
    with engine.started(options.redis_server, cache) as server:
        yield server


def _results(options: Options, cache: Path, first_line: dict[str, Any]) -> Results:
    path = cache / _file_name(options)
    return Results.resume(path, first_line) if options.resume else Results.begin(path, first_line)


def _last(options: Options) -> Results:
    return Results.load(cache_folder(options.cache) / _file_name(options))


def _file_name(options: Options) -> str:
    """A quick run leaves the results of a full one alone."""
    return "quick.jsonl" if options.quick else "results.jsonl"


if __name__ == "__main__":
    # An exit unwinds the stack, so that nothing we started outlives us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
