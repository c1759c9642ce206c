"""`python -m bench`: measure, print, write docs/benchmarks.md."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import document, engine, machine
from bench.contenders import BULLMQ, FLOOR, OURS, chosen
from bench.contenders import peers as others
from bench.engine import Engine
from bench.errors import BenchError, Unavailable
from bench.files import DOCUMENT, cache_folder, memory_folder
from bench.marks import MarksFile
from bench.measures.base import Lab, Trial
from bench.measures.depth import Depth
from bench.measures.drain import WHERE, Drain, OtherEngine
from bench.measures.due import Due
from bench.measures.enqueue import Enqueue
from bench.measures.idle import Idle
from bench.measures.latency import Latency
from bench.options import Options, parse
from bench.peers.base import Peer
from bench.results import Results, now
from bench.schedule import expected_seconds, run_all
from bench.tables import tables
from queue_app.core.errors import ConfigurationError

SINGLES = {OURS.key, FLOOR.key, *(peer.key for peer in others())}
"""Who enqueues, waits and idles: everybody at one setting."""


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
    peers, left_out = install(chosen(list(options.contenders)), cache)
    with _engine(options, cache) as server, _embedded(cache) as embedded, memory_folder() as memory:
        results = _results(options, cache, header(options, server, peers, left_out))
        lab = Lab(engine=server, marks=MarksFile(Path(memory) / "marks"), logs=cache / "logs", embedded=embedded)
        wanted = trials(options, peers)
        print(f"about {expected_seconds(wanted, options.rounds) / 60:.0f} minutes on a quiet machine")
        run_all(wanted, results, lab, rounds=options.rounds, repeats=options.repeats)
    return results


def install(peers: Sequence[Peer], cache: Path) -> tuple[list[Peer], dict[str, str]]:
    """Make everybody's environment; who can run here, and for the others why not, by label."""
    able, left_out = [], {}
    for peer in peers:
        try:
            peer.install(cache)
        except Unavailable as error:
            print(f"{peer.label} is left out: {error}")
            left_out[peer.label] = str(error)
        else:
            able.append(peer)
    return able, left_out


def trials(options: Options, peers: Sequence[Peer]) -> list[Trial]:
    """What was asked for, in the order of a pass."""
    singles = [peer for peer in peers if peer.key in SINGLES]
    engines = [peer for peer in peers if peer.key in (OURS.key, BULLMQ.key, FLOOR.key)]
    made: dict[str, list[Trial]] = {
        "drain": [Drain(peer, options.tasks) for peer in peers],
        "engines": [OtherEngine(peer, options.tasks, where) for where in WHERE for peer in engines],
        "enqueue": [
            *(Enqueue(peer, options.enqueued, in_bulk=False) for peer in singles),
            *(Enqueue(peer, options.bulk, in_bulk=True) for peer in singles if peer.has_bulk),
        ],
        "latency": [Latency(peer, options.latency_tasks) for peer in singles],
        "idle": [Idle(peer, options.idle_seconds) for peer in singles if peer is not FLOOR],
        "depth": [Depth(OURS, depth, options.drained) for depth in options.depths],
        "due": [Due(OURS, options.due)],
    }
    return [trial for kind, some in made.items() if kind in options.only for trial in some]


def header(options: Options, server: Engine, peers: Sequence[Peer], left_out: dict[str, str]) -> dict[str, Any]:
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
        "enqueued": options.enqueued,
        "bulk": options.bulk,
        "due": options.due,
        "left_out": left_out,
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


@contextmanager
def _embedded(cache: Path) -> Iterator[Engine | None]:
    """A server of the kind that `embedded://` starts, with the settings of the other; None where there is none."""
    try:
        from queue_app.brokers.redis.embedded import binary

        program = binary()
    except ConfigurationError:
        yield None
        return
    with engine.started(str(program), cache) as server:
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
