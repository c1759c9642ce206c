"""The command line, and what it leads to."""

from pathlib import Path

import pytest

from bench import __main__ as program
from bench.contenders import chosen, everybody
from bench.environments import node_pins, pins
from bench.errors import BenchError
from bench.files import ROOT, cache_folder
from bench.goals import DEPTHS
from bench.measures.drain import Drain
from bench.options import parse
from bench.summary import rounds_of


def test_the_defaults_are_those_of_the_goals() -> None:
    options = parse([])

    assert (options.rounds, options.tasks, options.idle_seconds) == (5, 50_000, 10.0)
    assert options.depths == DEPTHS


def test_quick_changes_defaults_but_not_what_was_asked_for() -> None:
    options = parse(["--quick", "--tasks", "2,000"])

    assert (options.rounds, options.tasks) == (1, 2_000)


@pytest.mark.parametrize("words", [["--only", "speed"], ["--rounds", "0"], ["--tasks", "1"], ["--depths", "x"]])
def test_a_bad_option_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(words)

    assert "error:" in capsys.readouterr().err


def test_a_pass_has_each_contender_then_latency_idle_and_depths() -> None:
    options = parse([])

    keys = [trial.key for trial in program.trials(options, everybody())]

    assert keys[:3] == ["drain/ours", "drain/ours-p0", "drain/ours-p2"]
    assert [key for key in keys if key.endswith("/celery")] == [
        "drain/celery",
        "enqueue/celery",
        "latency/celery",
        "idle/celery",
    ]
    assert {"enqueue-bulk/bullmq-c4", "drain-embedded/floor", "drain-without-file/ours"} < set(keys)
    assert "idle/floor" not in keys
    assert keys[-4:] == ["depth/10000", "depth/100000", "depth/1000000", "due/300000"]


def test_a_slow_peer_drains_as_many_as_it_says_are_enough() -> None:
    options = parse(["--tasks", "10000"])

    tasks = {trial.key: trial.tasks for trial in program.trials(options, everybody()) if isinstance(trial, Drain)}

    assert (tasks["drain/ours"], tasks["drain/celery"], tasks["drain/rq"]) == (10_000, 8_000, 3_000)


def test_what_moves_little_is_measured_in_fewer_rounds() -> None:
    rounds = {trial.key: rounds_of(trial.key, 5) for trial in program.trials(parse([]), everybody())}

    assert (rounds["drain/ours"], rounds["latency/ours"], rounds["depth/10000"]) == (5, 3, 3)


def test_contenders_are_chosen_by_key() -> None:
    assert [peer.key for peer in chosen(["floor", "ours"])] == ["ours", "floor"]
    with pytest.raises(BenchError, match="no contender 'sidekiq'"):
        chosen(["sidekiq"])


def test_every_peer_is_pinned() -> None:
    peers = ROOT / "bench" / "peers"

    files = list(peers.glob("*/requirements.txt"))
    assert len(files) == 10
    assert all(len(pins(file)) == len(file.read_text().splitlines()) for file in files)
    assert all(version[0].isdigit() for version in node_pins(peers / "bullmq" / "package.json").values())


def test_the_cache_hides_itself_from_git(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path / "a b")

    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_missing_server_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = program.main(["--only", "idle", "--redis-server", "no-such-server", "--cache", str(tmp_path)])

    assert code == 1
    assert capsys.readouterr().err.startswith("bench: no-such-server was not found")
