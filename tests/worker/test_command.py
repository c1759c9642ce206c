"""The command, in this process. What needs one of its own is in tests/process."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queue_app import runtime
from queue_app.brokers.memory import MemoryBroker
from queue_app.core.errors import StoreUnavailable
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.options import Options
from queue_app.registry import Handler, Registry
from tests.worker.kit import Faulty, lines


@pytest.fixture
def broker() -> Any:
    """The store that the command finds."""
    broker = Faulty(MemoryBroker())
    with runtime.override(broker):
        yield broker


def test_a_burst_in_this_process(broker: Any) -> None:
    broker.enqueue(Task(id="t1", task_type="nobody.runs.this", max_retries=-1))
    out = StringIO()

    call_command("runworker", "--burst", stdout=out)

    start, end = out.getvalue().splitlines()
    assert start.endswith("with 4 slots at memory://")
    assert end.endswith("ended: 1 attempts, 1 of them failed")
    assert broker.get("t1").state is State.DEAD


def test_a_hard_limit_that_nobody_keeps_is_told(
    broker: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    for name, hard_timeout in (("free", None), ("limited", 60.0)):
        options = Options(hard_timeout=hard_timeout)
        registry.add(Handler(task_type=name, function=test_signals_are_given_back, options=options))
    monkeypatch.setattr("queue_app.management.commands.runworker.handlers", registry)

    call_command("runworker", "--burst", stdout=StringIO())

    (line,) = lines(caplog, "hard_timeout is not kept")
    assert line.endswith("types=['limited']")


def test_the_store_is_asked_before_anything_begins(broker: Any) -> None:
    broker.is_down = True

    with pytest.raises(CommandError, match=r"the engine at memory:// does not answer: connection refused"):
        call_command("runworker")


def test_a_store_that_goes_away_while_it_is_asked(broker: Any) -> None:
    broker.fail_next("now", StoreUnavailable("gone"))

    with pytest.raises(CommandError, match="does not answer: gone"):
        call_command("forgequeue_worker")


def test_signals_are_given_back(broker: Any) -> None:
    import signal

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    call_command("runworker", "--burst", stdout=StringIO())

    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--queues", "a:0"], "the weight of 'a:0'"),
        (["--queues", "a b"], "queue name 'a b'"),
        (["--queues", "a,a"], "names a queue twice"),
        (["--concurrency", "0"], "'0' is not a whole number from 1"),
        (["--concurrency", "many"], "'many' is not a whole number from 1"),
        (["--batch-size", "1001"], "'1001' is not a whole number from 1 to 1,000"),
        (["--lease", "0"], "'0' is not a number from 0.1"),
        (["--drain-timeout", "nan"], "'nan' is not a number from 0"),
        (["--name", "a b"], "'a b' is not"),
        (["--cancel-grace", "5"], "--cancel-grace is for runner processes"),
        (["--max-tasks", "5"], "--max-tasks is for runner processes"),
        (["--processes", "2"], "memory:// is this process alone: use --processes 0"),
    ],
)
def test_a_bad_option_is_one_line_that_names_it(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("runworker", *arguments)

    assert words in str(refused.value)


def test_channel_names_are_handed_over_to_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = pytest.importorskip("channels.management.commands.runworker")
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(theirs.Command, "handle", lambda self, **options: given.append(options))

    call_command("runworker", "thumbnails", "mail", "--layer", "other")
    call_command("runworker", "thumbnails")

    assert given[0] == {"channels": ["thumbnails", "mail"], "layer": "other", "verbosity": 1}
    assert "layer" not in given[1]
