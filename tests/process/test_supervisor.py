"""A worker whose runners are processes of their own: nothing that a handler does hurts the queue."""

import os
import signal
import time
from pathlib import Path

import pytest

from queue_app.core.states import State
from tests.process.rig import LEASE_SECONDS, Rig, until

pytestmark = pytest.mark.slow


def runner_of(rig: Rig, task_id: str) -> int:
    """The process that runs a task, once it does."""
    until(lambda: task_id in rig.ledger.by_task("start"), "it began")
    return rig.ledger.by_task("start")[task_id][-1].pid


def test_a_handler_that_lets_no_thread_run_for_five_leases_runs_once(rig: Rig) -> None:
    rig.workers.start()
    rig.workers.start()
    task_id = rig.enqueue("hold_the_interpreter", round(5 * LEASE_SECONDS))

    rig.wait_for_end([task_id], 20)
    rig.wait_until_settled()

    rig.check_once([task_id])
    assert rig.workers.stop() == [0, 0]
    rig.check_conservation()


def test_what_waits_behind_such_a_handler_runs_elsewhere_within_a_second(rig: Rig) -> None:
    rig.workers.start("--concurrency", "1", "--batch-size", "10")
    # The whole batch is claimed by one slot before the other worker is there.
    first = rig.enqueue("work", 1.0)
    until(lambda: first in rig.ledger.started(), "it began")
    holder = rig.enqueue("hold_the_interpreter", 4)
    behind = rig.enqueue_many([("work", (), 0.0, {})] * 5)
    until(lambda: holder in rig.ledger.started(), "it holds the interpreter")
    began = time.monotonic()

    rig.workers.start("--concurrency", "1", "--batch-size", "1")
    until(lambda: set(behind) <= rig.ledger.ended(), "the others ran", 5)

    assert holder not in rig.ledger.ended()
    assert time.monotonic() - began < 4.0
    rig.wait_for_end([holder], 10)
    rig.check_once()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_runner_is_noticed_at_once_and_only_what_ran_counts(rig: Rig, number: int) -> None:
    worker = rig.workers.start("--concurrency", "1", "--batch-size", "4")
    running = rig.enqueue("attentive", 60.0)
    pid = runner_of(rig, running)
    waiting = rig.enqueue_many([("work", (), 0.0, {})] * 3)
    killed_at = time.time()

    os.kill(pid, number)
    rig.wait_for_end(waiting, 5)

    assert max(entry.attempt for entries in rig.ledger.by_task("start").values() for entry in entries) <= 2
    rig.check_once(waiting)
    until(lambda: len(rig.ledger.by_task("start")[running]) == 2, "it runs again", 10)
    error = rig.broker.get(running).task.last_error
    assert (error.type, error.message) == ("RunnerDied", f"runner died: signal {number}")
    assert error.at - killed_at < 1.0
    assert worker.is_alive
    worker.wait_for("runner died name=")


def test_a_task_that_kills_its_runner_each_time_is_dead_after_its_budget_and_the_others_finish(rig: Rig) -> None:
    rig.workers.start("--concurrency", "2")
    poison = rig.enqueue("kill_own_runner", int(signal.SIGKILL), max_retries=2)
    good = rig.enqueue_many([("work", (0.01,), 0.0, {})] * 30)

    rig.wait_for_end(good, 20)
    until(lambda: rig.broker.get(poison).state is State.DEAD, "its budget is spent", 20)

    task = rig.broker.get(poison).task
    assert task.attempts == 3
    assert len(rig.ledger.by_task("start")[poison]) == 3
    rig.check_liveness()
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_a_supervisor_that_is_stopped_for_three_leases_loses_nothing(rig: Rig) -> None:
    worker = rig.workers.start()
    rig.workers.start()
    tasks = rig.enqueue_many([("work", (4 * LEASE_SECONDS,), 0.0, {})] * 4)
    until(lambda: set(tasks) <= rig.ledger.started(), "they run")

    worker.send(signal.SIGSTOP)
    time.sleep(3 * LEASE_SECONDS)
    worker.send(signal.SIGCONT)
    rig.wait_for_end(tasks, 20)
    rig.wait_until_settled()

    rig.check_once(tasks)
    rig.check_liveness()
    assert rig.workers.stop() == [0, 0]
    rig.check_conservation()


def test_a_supervisor_that_is_killed_leaves_no_runner_behind_and_another_worker_takes_over(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "1")
    task_id = rig.enqueue("attentive", 60.0, backoff=None)
    pid = runner_of(rig, task_id)

    worker.send(signal.SIGKILL)

    until(lambda: not is_alive(pid), "its runner has ended", 5 * LEASE_SECONDS + 5)
    rig.workers.start("--concurrency", "2")
    until(lambda: len(rig.ledger.by_task("start")[task_id]) == 2, "another one took over", 10)
    rig.check_liveness()


def status_of(pid: int) -> list[str]:
    """State, parent and so on of a process, from its line in /proc."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return status_of(pid)[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_handler_past_its_hard_limit_ends_with_its_runner_and_its_neighbours_do_not_count(rig: Rig) -> None:
    worker = rig.workers.start("--concurrency", "2")
    culprit = rig.enqueue("hold_the_interpreter", 30, hard_timeout=0.5, max_retries=-1)
    until(lambda: culprit in rig.ledger.started(), "it began")
    others = rig.enqueue_many([("work", (), 0.0, {})] * 5)

    until(lambda: rig.broker.get(culprit).state is State.DEAD, "it is dead", 20)
    rig.wait_for_end(others, 10)

    error = rig.broker.get(culprit).task.last_error
    assert (error.type, error.message) == ("HardTimeLimit", "the attempt ran for longer than its hard_timeout")
    rig.check_once(others)
    assert "runner is ended for a task" in worker.output
    rig.check_liveness()
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_a_handler_that_ignores_a_cancel_ends_with_its_runner(rig: Rig) -> None:
    rig.workers.start("--cancel-grace", "0.5")
    task_id = rig.enqueue("work", 60.0)
    until(lambda: task_id in rig.ledger.started(), "it began")

    rig.broker.cancel(task_id)

    until(lambda: rig.broker.get(task_id).state is State.CANCELLED, "it ended cancelled", 10)
    assert rig.broker.get(task_id).task.attempts == 1
    rig.check_liveness()
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_an_attentive_handler_hears_of_a_cancel_and_its_runner_lives_on(rig: Rig) -> None:
    rig.workers.start()
    task_id = rig.enqueue("attentive", 60.0)
    pid = runner_of(rig, task_id)

    rig.broker.cancel(task_id)

    until(lambda: rig.broker.get(task_id).state is State.CANCELLED, "it ended cancelled", 5)
    assert is_alive(pid)
    assert rig.ledger.entries("cancelled")


@pytest.mark.parametrize("everybody", [False, True])
def test_sigterm_hands_back_what_ignores_it_and_ends_well(rig: Rig, *, everybody: bool) -> None:
    worker = rig.workers.start("--drain-timeout", "0.5")
    stubborn = rig.enqueue("work", 30.0)
    quick = rig.enqueue("work", 0.2)
    until(lambda: {stubborn, quick} <= rig.ledger.started(), "they run")

    if everybody:
        # As Ctrl-C in a terminal, and systemd, do it.
        os.killpg(worker.pid, signal.SIGTERM)
    else:
        worker.send(signal.SIGTERM)

    assert worker.wait(10) == 0
    assert quick in rig.ledger.ended()
    assert rig.broker.get(stubborn).state is State.READY
    assert rig.broker.get(stubborn).task.attempts == 0
    assert rig.broker.workers() == []


def test_a_second_sigterm_ends_at_once(rig: Rig) -> None:
    worker = rig.workers.start()
    task_id = rig.enqueue("work", 30.0)
    pid = runner_of(rig, task_id)
    worker.send(signal.SIGTERM)
    worker.wait_for("worker drains")

    worker.send(signal.SIGTERM)

    assert worker.wait(5) == 0
    assert not is_alive(pid)
    assert rig.broker.get(task_id).state is State.READY


def test_a_burst_ends_when_every_runner_has_found_nothing(rig: Rig) -> None:
    tasks = rig.enqueue_many([("work", (0.01,), 0.0, {})] * 40)

    worker = rig.workers.start("--burst", "--processes", "2", wait=False)

    assert worker.wait() == 0
    rig.check_once(tasks)
    rig.check_conservation()


def test_a_burst_goes_on_after_a_runner_was_killed(rig: Rig) -> None:
    poison = rig.enqueue("kill_own_runner", int(signal.SIGKILL), max_retries=-1)
    good = rig.enqueue_many([("work", (0.01,), 0.0, {})] * 20)

    worker = rig.workers.start("--burst", "--concurrency", "1", wait=False)

    assert worker.wait() == 0
    rig.check_once(good)
    assert rig.broker.get(poison).state is State.DEAD
    rig.check_conservation()


def test_a_worker_says_how_many_slots_all_its_runners_have(rig: Rig) -> None:
    rig.workers.start("--processes", "2", "--concurrency", "3")
    until(lambda: bool(rig.broker.workers()), "it said who it is")

    assert rig.broker.workers()[0].concurrency == 6


def test_a_runner_is_replaced_after_so_many_tasks_and_nothing_is_lost(rig: Rig) -> None:
    worker = rig.workers.start("--max-tasks", "20")
    tasks = rig.enqueue_many([("work", (0.01,), 0.0, {})] * 200)

    rig.wait_for_end(tasks, 20)

    rig.check_once(tasks)
    assert len({entry.pid for entry in rig.ledger.entries("start")}) >= 2
    assert "runner is replaced" in worker.output
    assert "runner died" not in worker.output
    assert rig.workers.stop() == [0]
    rig.check_conservation()


def test_a_runner_is_replaced_after_so_long(rig: Rig) -> None:
    worker = rig.workers.start("--max-time", "1")

    worker.wait_for("reason=it has run for 1 s", 10)

    rig.check_liveness()


def test_a_runner_is_replaced_when_it_holds_so_much(rig: Rig) -> None:
    worker = rig.workers.start("--max-memory", "200")
    rig.check_liveness()
    task_id = rig.enqueue("hoard", 300)
    rig.wait_for_end([task_id], 10)

    worker.wait_for("reason=it holds", 10)

    rig.check_once([task_id])
    rig.check_liveness()
    assert rig.workers.stop() == [0]


def test_a_loader_that_dies_ends_the_worker_in_good_order(rig: Rig) -> None:
    worker = rig.workers.start()
    task_id = rig.enqueue("work", 1.0)
    until(lambda: task_id in rig.ledger.started(), "it began")
    runner = rig.ledger.by_task("start")[task_id][0].pid
    loader = int(status_of(runner)[1])

    os.kill(loader, signal.SIGKILL)

    assert worker.wait(20) == 1
    assert "the loader is gone" in worker.output
    rig.check_once([task_id])
    rig.check_conservation()


def test_a_stopped_runner_is_ended_after_a_while_and_its_task_runs_elsewhere(rig: Rig) -> None:
    rig.workers.start("--stall-timeout", "1")
    task_id = rig.enqueue("attentive", 60.0, backoff=None)
    pid = runner_of(rig, task_id)

    os.kill(pid, signal.SIGSTOP)

    until(lambda: len(rig.ledger.by_task("start")[task_id]) == 2, "it runs again", 15)
    assert not is_alive(pid)


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_fork_that_comes_back_from_its_handler_is_ended(rig: Rig, processes: str) -> None:
    forks = rig.enqueue_many(
        [("fork", ("raises",), 0.0, {}), ("fork", ("returns",), 0.0, {}), ("fork_async", (), 0.0, {})]
    )
    others = rig.enqueue_many([("work", (), 0.0, {})] * 100)

    worker = rig.workers.start("--processes", processes, "--concurrency", "1", "--batch-size", "50")
    rig.wait_for_end([*forks, *others], 20)
    rig.wait_until_settled()

    rig.check_once()
    assert rig.ledger.by_task("child went on") == {}
    assert len({entry.pid for entry in rig.ledger.entries("start")}) == 1
    assert worker.output.count("came back and is ended") == 3
    assert rig.workers.stop() == [0]
    rig.check_conservation()
