"""The board, both sides of it in one process: what a slot writes is what the supervisor reads, and nothing else."""

from collections.abc import Iterator

import pytest

from queue_app.core.answers import Held
from queue_app.core.codec import encode
from queue_app.core.lease import Claimed, Lease
from queue_app.core.outcomes import Cancelled, Failed, Spent, Succeeded
from queue_app.core.task import Task
from queue_app.worker.batch import CANCELLED, LOST, Batch
from queue_app.worker.board import Board, SharedSeat, Status
from queue_app.worker.crash import RUNNER_DIED, cancelled, death_of, failed, outcomes_of

QUEUES = ("mail", "tasks")


@pytest.fixture
def board() -> Board:
    return Board(places=2, slots=2, queues=QUEUES, batch=4)


@pytest.fixture
def seat(board: Board) -> SharedSeat:
    return board.seats[1][0]


def batch_of(*ids: str, queue: str = "tasks", token: str = "token") -> Batch:
    claimed = [
        Claimed(Lease(task_id, queue, token), encode(Task(id=task_id, task_type="x", max_retries=1))) for task_id in ids
    ]
    return Batch(queue, token, claimed, until=0.0, asked=len(ids))


def test_a_seat_that_nobody_has_taken_shows_nothing(seat: SharedSeat) -> None:
    assert seat.view() is None
    assert seat.counts() == (0, 0)
    assert seat.renamed == 0


def test_a_batch_is_read_as_it_was_written(seat: SharedSeat) -> None:
    seat.take(batch_of("a", "b", "c"))
    seat.start(0, 5.0)
    seat.ended(0, plainly=True)
    seat.start(1, 7.5)
    seat.describe("mail.send", 9.0)

    view = seat.view()

    assert view is not None
    assert (view.queue, view.token, view.ids) == ("tasks", "token", ("a", "b", "c"))
    assert view.statuses == (Status.SUCCEEDED, Status.RUNNING, Status.WAITING)
    assert (view.is_running, view.running_id, view.started_at) == (True, "b", 7.5)
    assert (view.task_type, view.hard_until) == ("mail.send", 9.0)
    assert list(view.waiting()) == [2]


def test_the_details_of_one_task_are_never_taken_for_those_of_the_next(seat: SharedSeat) -> None:
    seat.take(batch_of("a", "b"))
    seat.start(0, 1.0)
    seat.describe("limited", 2.0)
    seat.ended(0, plainly=False)

    seat.start(1, 3.0)

    view = seat.view()
    assert view is not None
    assert (view.running_id, view.task_type, view.hard_until) == ("b", "", 0.0)


def test_nor_are_those_of_the_last_batch(seat: SharedSeat) -> None:
    seat.take(batch_of("a"))
    seat.start(0, 1.0)
    seat.describe("limited", 2.0)

    seat.take(batch_of("b"))
    seat.start(0, 3.0)

    view = seat.view()
    assert view is not None
    assert view.hard_until == 0.0


def test_a_seat_whose_writer_died_over_a_batch_shows_nothing(seat: SharedSeat, monkeypatch: pytest.MonkeyPatch) -> None:
    seat.take(batch_of("a"))
    monkeypatch.setattr("queue_app.worker.board._joined", lambda ids: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        seat.take(batch_of("b"))

    assert seat.view() is None


def test_a_batch_that_is_delivered_is_cleared(seat: SharedSeat) -> None:
    seat.take(batch_of("a"))

    seat.clear()

    assert seat.view() is None


def test_what_is_recalled_is_not_started_and_what_is_started_is_not_recalled(seat: SharedSeat) -> None:
    seat.take(batch_of("a", "b", "c"))
    seat.start(0, 1.0)
    view = seat.view()
    assert view is not None

    assert seat.recall(view) == ["b", "c"]
    assert [seat.start(index, 2.0) for index in (1, 2)] == [False, False]
    assert not seat.give_back(1)
    assert seat.recall(view) == []


def test_what_a_runner_gives_back_is_not_recalled(seat: SharedSeat) -> None:
    seat.take(batch_of("a", "b"))
    view = seat.view()
    assert view is not None

    assert seat.give_back(1)

    assert seat.recall(view) == ["a"]


def test_a_recall_that_comes_after_the_batch_recalls_nothing(seat: SharedSeat) -> None:
    seat.take(batch_of("a"))
    view = seat.view()
    assert view is not None
    seat.take(batch_of("b"))

    assert seat.recall(view) == []
    assert seat.start(0, 1.0)


def test_a_lock_that_a_dead_process_kept_is_free_for_its_successor(board: Board, seat: SharedSeat) -> None:
    seat.take(batch_of("a"))
    view = seat.view()
    assert view is not None
    seat._lock.acquire()

    assert seat.recall(view) == []
    board.open(1)
    seat.take(batch_of("b"))

    assert seat.start(0, 1.0)


def test_deadline_and_marks_reach_their_own_batch_only(seat: SharedSeat) -> None:
    first, second = batch_of("a", "b", "c"), batch_of("d", "e", "f")
    seat.take(first)
    view = seat.view()
    assert view is not None
    seat.renew(view.number, 50.0)
    seat.mark(view.number, 0, LOST)
    seat.mark(view.number, 2, CANCELLED)

    assert seat.news(first) == (50.0, [(0, LOST), (2, CANCELLED)])
    seat.take(second)
    assert seat.news(second) == (0.0, [])


@pytest.mark.parametrize("odd", ["x" * 900, "two\nlines", "ü" * 450])
def test_an_id_that_cannot_be_written_down_may_have_been_running(seat: SharedSeat, odd: str) -> None:
    seat.take(batch_of("a", odd, "b", "c"))
    seat.start(0, 1.0)

    view = seat.view()

    assert view is not None
    assert view.status_of(odd) is Status.RUNNING
    assert view.status_of("b") is Status.WAITING


def test_the_largest_batch_of_the_longest_ids_stays_in_its_seat(board: Board) -> None:
    neighbour = board.seats[1][1]
    neighbour.take(batch_of("n"))
    ids = [str(number) * 200 for number in range(4)]

    board.seats[1][0].take(batch_of(*ids))

    view, other = board.seats[1][0].view(), neighbour.view()
    assert view is not None
    assert other is not None
    assert view.ids == tuple(ids)
    assert other.ids == ("n",)


def test_a_new_runner_finds_nothing_of_the_last_one(board: Board, seat: SharedSeat) -> None:
    seat.take(batch_of("a"))
    seat.count(7, 3)
    seat.rename(2)
    board.waits(1, at_store=True)

    board.open(1)

    assert seat.view() is None
    assert (seat.counts(), seat.renamed) == ((0, 0), 0)
    assert not board.is_waiting(1)


def test_places_and_stamp_are_kept_apart(board: Board) -> None:
    board.stamp(100.0)
    board.waits(0, at_store=True)

    assert board.stamped_ago(101.5) == 1.5
    assert (board.is_waiting(0), board.is_waiting(1)) == (True, False)


# --- what follows from it ---------------------------------------------------------------------------------------------


@pytest.fixture
def held(seat: SharedSeat) -> Iterator[Batch]:
    """Four tasks: one ended well, one ended otherwise, one running, one waiting."""
    batch = batch_of("well", "ill", "runs", "waits")
    seat.take(batch)
    for index in range(3):
        seat.start(index, 1.0)
    seat.ended(0, plainly=True)
    seat.ended(1, plainly=False)
    return batch


def died(claimed: Claimed) -> Failed | Spent:
    outcome = failed(claimed, RUNNER_DIED, "runner died: signal 9", at=1.0, worker="w.1")
    assert isinstance(outcome, Failed | Spent)
    return outcome


def test_each_task_of_a_dead_runner_gets_what_it_deserves(seat: SharedSeat, held: Batch) -> None:
    ids = tuple(each.lease.task_id for each in held.claimed)

    outcomes = outcomes_of(seat.view(), Held("token", ids), held.claimed, died)

    assert [(type(each), each.lease.task_id) for each in outcomes] == [
        (Succeeded, "well"),
        (Failed, "ill"),
        (Failed, "runs"),
    ]


def test_a_batch_that_was_claimed_and_not_written_down_has_not_been_started(seat: SharedSeat, held: Batch) -> None:
    newer = batch_of("new", token="newer")

    assert outcomes_of(seat.view(), Held("newer", ("new",)), newer.claimed, died) == []
    assert outcomes_of(None, Held("newer", ("new",)), newer.claimed, died) == []


def test_what_is_nobodys_fault_is_released(seat: SharedSeat, held: Batch) -> None:
    ids = tuple(each.lease.task_id for each in held.claimed)

    outcomes = outcomes_of(seat.view(), Held("token", ids), held.claimed, lambda claimed: None)

    assert [each.lease.task_id for each in outcomes] == ["well"]


def test_the_last_attempt_of_a_task_that_kills_is_death_and_a_cancelled_one_is_cancelled() -> None:
    (first,) = batch_of("a").claimed
    last = Claimed(first.lease, encode(Task(id="a", task_type="x", max_retries=-1)))

    assert isinstance(died(first), Failed)
    assert isinstance(died(last), Spent)
    assert isinstance(cancelled(first), Cancelled)
    broken = Claimed(first.lease, b"{")
    assert isinstance(died(broken), Spent)
    assert isinstance(cancelled(broken), Spent)


def test_a_death_is_told_in_words() -> None:
    assert death_of(9) == "signal 9"
    assert death_of(3 << 8) == "exit code 3"
