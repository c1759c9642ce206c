"""The keeper, with a loader that a test moves by hand."""

import socket
import threading
from collections.abc import Iterator

import pytest

from queue_app.worker.keeper import Keeper
from queue_app.worker.loader import LoaderGone
from tests.worker.test_crew import Stage


class SlowLoader:
    """Takes as long to fork as a test lets it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may_go_on = threading.Event()
        self.lines: list[tuple[socket.socket, socket.socket]] = []
        self.is_gone = False

    def fork(self, serial: int, place: int) -> socket.socket:
        self.asked.set()
        self.may_go_on.wait(10)
        if self.is_gone:
            raise LoaderGone
        self.lines.append(socket.socketpair())
        return self.lines[-1][0]

    def close(self) -> None:
        for pair in self.lines:
            for line in pair:
                line.close()


@pytest.fixture
def stage(time: object) -> Iterator[Stage]:
    stage = Stage(time)  # type: ignore[arg-type]
    stage.crew.members = {}
    yield stage
    stage.close()


@pytest.fixture
def loader() -> Iterator[SlowLoader]:
    loader = SlowLoader()
    yield loader
    loader.may_go_on.set()
    loader.close()


@pytest.fixture
def keeper(stage: Stage, loader: SlowLoader) -> Iterator[Keeper]:
    keeper = Keeper(stage.crew, loader, stage.desk, all_idle=lambda: None, clock=stage.time.now)  # type: ignore[arg-type]
    yield keeper
    keeper.close()


def test_a_runner_that_is_being_born_when_a_drain_begins_is_told_too(
    stage: Stage, loader: SlowLoader, keeper: Keeper
) -> None:
    birth = threading.Thread(target=keeper._bring_to_life, args=(stage.time.now(),))
    birth.start()
    assert loader.asked.wait(10)
    drain = threading.Thread(target=stage.crew.drain)
    drain.start()
    drain.join(0.1)
    assert not stage.crew.is_done
    loader.may_go_on.set()
    birth.join(10)
    drain.join(10)

    assert len(stage.crew.members) == 1
    assert loader.lines[0][1].recv(100) == b"drain\n"
    assert not stage.crew.is_done


def test_while_it_drains_nobody_is_born(stage: Stage, loader: SlowLoader, keeper: Keeper) -> None:
    stage.crew.drain()

    keeper._bring_to_life(stage.time.now())

    assert not loader.asked.is_set()
    assert stage.crew.is_done


def test_without_a_loader_the_worker_has_to_end(stage: Stage, loader: SlowLoader, keeper: Keeper) -> None:
    loader.is_gone = True
    loader.may_go_on.set()

    keeper._bring_to_life(stage.time.now())
    keeper._bring_to_life(stage.time.now())

    assert [type(error) for error in stage.desk.gave_up] == [LoaderGone]
    assert stage.crew.members == {}
