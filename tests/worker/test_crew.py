"""The supervisor's view of its runners: by the board, and by what the store says of their slots."""

import socket
from collections.abc import Iterator

import pytest

from queue_app.brokers.memory import MemoryBroker
from queue_app.core.errors import LeaseLost
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.clock import FakeClock
from queue_app.worker.batch import CANCELLED, LOST, Batch
from queue_app.worker.board import Board, SharedSeat
from queue_app.worker.crash import HARD_TIME_LIMIT
from queue_app.worker.crew import Crew, Member
from queue_app.worker.heart import Heart
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outlook import Outlook
from queue_app.worker.recovery import Recovery
from tests.worker.kit import DeskStub, Faulty


class Stage:
    """A crew of one runner with two slots that exist on the board alone, and a store in memory."""

    def __init__(self, time: FakeClock) -> None:
        self.time = time
        self.broker = Faulty(MemoryBroker(clock=time))
        self.options = WorkerOptions(name="w", concurrency=2, processes=1, batch_size=4)
        self.board = Board(places=3, slots=2, queues=self.options.queue_names, batch=4)
        self.desk = DeskStub()
        self.crew = Crew(self.broker, self.options, self.desk, self.board, clock=time.now)
        self.lines = socket.socketpair()
        self.member = self.crew.join(1, 0, self.lines[0])
        self.heart = Heart(self.broker, self.crew, self.desk, lease_seconds=10.0, beat_seconds=3.0, clock=time.now)
        self.recovery = Recovery(self.broker, self.crew, Outlook(time.now), self.desk)

    @property
    def seats(self) -> list[SharedSeat]:
        return self.board.seats[0]

    def claim(self, *ids: str, slot: int = 0, max_retries: int = 3) -> Batch:
        """The slot claims fresh tasks of these ids."""
        for task_id in ids:
            self.broker.enqueue(Task(id=task_id, task_type="x", max_retries=max_retries))
        claimed = self.broker.claim("tasks", holder=f"w.1:{slot}", limit=4)
        batch = Batch("tasks", claimed[0].lease.token, claimed, until=0.0, asked=4)
        self.seats[slot].take(batch)
        return batch

    def die(self, death: str = "signal 9") -> None:
        """The runner dies, and what it held is looked after."""
        self.crew.died(self.member, death)
        self.recovery.run_once()

    def close(self) -> None:
        for line in self.lines:
            line.close()


@pytest.fixture
def stage(time: FakeClock) -> Iterator[Stage]:
    stage = Stage(time)
    yield stage
    stage.close()


def test_a_beat_renews_by_the_names_of_the_slots_and_tells_them(stage: Stage) -> None:
    batch = stage.claim("a", "b")
    stage.time.advance(9.0)

    stage.heart.run_once()
    stage.time.advance(9.0)

    assert stage.broker.reclaim("tasks", lambda claimed: None).count == 0
    assert stage.seats[0].news(batch) == (stage.time.now() + 1.0, [])


def test_what_the_store_does_not_count_as_held_is_marked_as_lost(stage: Stage) -> None:
    batch = stage.claim("a", "b")
    stage.seats[0].start(0, 0.0)
    stage.broker.release(batch.claimed[0].lease)

    stage.heart.run_once()

    assert stage.seats[0].news(batch)[1] == [(0, LOST)]


def test_what_somebody_asked_to_cancel_is_marked_and_the_time_is_noted(stage: Stage) -> None:
    batch = stage.claim("a", "b")
    stage.seats[0].start(0, 0.0)
    stage.broker.cancel("a")

    stage.heart.run_once()

    assert stage.seats[0].news(batch)[1] == [(0, CANCELLED)]
    assert stage.member.cancels == {"a": stage.time.now()}


def test_a_slot_that_took_another_name_is_renewed_under_that(stage: Stage) -> None:
    stage.seats[0].rename(2)

    assert [holder for holder, _ in stage.crew.holdings("tasks")] == ["w.1:0.2", "w.1:1"]


def test_while_nothing_is_held_there_is_nothing_to_renew(stage: Stage) -> None:
    stage.claim("a")
    stage.seats[0].clear()

    stage.heart.run_once()

    assert stage.crew.held_queues() == []
    assert [verb for verb, _, _ in stage.broker.calls if verb == "heartbeat"] == []


def test_a_paused_queue_gets_back_what_has_not_been_started(stage: Stage) -> None:
    stage.claim("a", "b", "c")
    stage.seats[0].start(0, 0.0)
    stage.broker.pause("tasks")

    stage.heart.run_once()
    stage.recovery.run_once()

    assert [stage.broker.get(each).state for each in "abc"] == [State.RUNNING, State.READY, State.READY]
    assert stage.broker.get("b").task.attempts == 0


def test_what_runs_and_what_waits_is_told(stage: Stage) -> None:
    stage.claim("a", "b", "c")
    stage.seats[0].start(0, stage.time.now())
    stage.seats[0].describe("mail.send", 0.0)
    stage.seats[1].count(7, 2)
    stage.time.advance(4.0)

    assert stage.crew.running() == [("a", "mail.send", 4.0)]
    assert stage.crew.prefetched() == 2
    assert stage.crew.counts() == (7, 2)


# --- the dead ---------------------------------------------------------------------------------------------------------


def test_of_a_dead_runner_only_what_ran_counts(stage: Stage) -> None:
    stage.claim("a", "b")
    stage.seats[0].start(0, 0.0)

    stage.die()

    ran, waited = stage.broker.get("a"), stage.broker.get("b")
    assert (ran.state, ran.task.attempts) == (State.RETRYING, 1)
    assert (ran.task.last_error.type, ran.task.last_error.message) == ("RunnerDied", "runner died: signal 9")
    assert (waited.state, waited.task.attempts) == (State.READY, 0)


def test_that_several_ran_is_told(stage: Stage) -> None:
    stage.claim("a")
    stage.claim("b", slot=1)
    for seat in stage.seats:
        seat.start(0, 0.0)

    stage.die()

    assert stage.broker.get("a").task.last_error.message == "runner died: signal 9, one of 2 running"


def test_its_names_are_closed_and_what_it_sends_late_changes_nothing(stage: Stage) -> None:
    batch = stage.claim("a")
    stage.die()

    late = stage.broker.exchange("tasks", holder="w.1:0", token="t", outcomes=[], want=1)

    assert late.standing == "closed"
    assert stage.broker.get("a").state is State.READY
    with pytest.raises(LeaseLost):
        stage.broker.release(batch.claimed[0].lease)


def test_a_success_that_it_could_not_deliver_is_acked(stage: Stage) -> None:
    stage.claim("a")
    stage.seats[0].start(0, 0.0)
    stage.seats[0].ended(0, plainly=True)

    stage.die()

    assert stage.broker.find("a") is None
    assert stage.broker.stats("tasks").totals["succeeded"] == 1


def test_of_one_that_was_ended_for_a_task_the_neighbours_do_not_count(stage: Stage) -> None:
    stage.claim("a")
    stage.claim("b", slot=1)
    for seat in stage.seats:
        seat.start(0, 0.0)
    stage.member.culprits["a"] = HARD_TIME_LIMIT

    stage.die()

    culprit, neighbour = stage.broker.get("a"), stage.broker.get("b")
    assert (culprit.state, culprit.task.last_error.type) == (State.RETRYING, "HardTimeLimit")
    assert (neighbour.state, neighbour.task.attempts) == (State.READY, 0)


def test_one_that_was_ended_because_it_ignored_a_cancel_leaves_a_cancelled_task(stage: Stage) -> None:
    stage.claim("a")
    stage.seats[0].start(0, 0.0)
    stage.member.culprits["a"] = CANCELLED

    stage.die()

    assert stage.broker.get("a").state is State.CANCELLED


def test_what_is_cut_off_by_the_end_of_the_worker_does_not_count(stage: Stage) -> None:
    stage.claim("a")
    stage.seats[0].start(0, 0.0)
    stage.member.is_cut_off = True

    stage.die()

    assert (stage.broker.get("a").state, stage.broker.get("a").task.attempts) == (State.READY, 0)


def test_the_dead_are_not_forgotten_while_the_store_is_away(stage: Stage) -> None:
    stage.claim("a")
    stage.seats[0].start(0, 0.0)
    stage.broker.is_down = True
    stage.crew.died(stage.member, "signal 9")

    stage.recovery.step()
    assert stage.crew.dead == [stage.member]
    stage.broker.is_down = False
    stage.recovery.step()

    assert stage.crew.dead == []
    assert stage.broker.get("a").state is State.RETRYING


def test_a_place_is_free_when_its_dead_are_looked_after(stage: Stage) -> None:
    stage.crew.died(stage.member, "signal 9")
    assert stage.crew.free_place() == 1

    stage.recovery.run_once()

    assert stage.crew.free_place() == 0


def test_the_counts_of_the_dead_stay(stage: Stage) -> None:
    stage.seats[0].count(5, 1)
    stage.die()
    stage.board.open(0)

    assert stage.crew.counts() == (5, 1)


def test_a_crew_is_done_when_nobody_lives_and_nothing_is_left(stage: Stage) -> None:
    stage.claim("a", "b")
    stage.crew.drain()
    assert stage.lines[1].recv(100) == b"drain\n"
    assert not stage.crew.is_done

    stage.die("exit code 0")

    assert stage.crew.is_done


def test_a_member_that_is_gone_hears_nothing() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    member = Member(serial=1, place=0, name="w.1", seats=[], line=ours, born_at=0.0)

    member.say(b"drain\n")
    member.kill()

    ours.close()
