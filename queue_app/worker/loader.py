"""The loader: a process that has everything imported and does nothing but fork runners.

It is forked before the supervisor has started a thread or opened a connection, and has one thread itself, so its
children begin with a clean copy: the handlers loaded, memory shared until it is written to, no line to anybody. It ends
when the supervisor is gone, which it learns from the line between them.
"""

import gc
import json
import logging
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from queue_app.worker.process import SIGNALS

Serve = Callable[[int, int, socket.socket], int]
"""What a runner does: its serial number, its place on the board, its line to the supervisor. Returns the exit code."""

logger = logging.getLogger("forgequeue.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Born:
    """A runner was forked."""

    serial: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A runner has ended."""

    pid: int
    status: int
    """As `os.waitpid` gives it."""


class LoaderGone(Exception):
    """The loader has ended: there will be no more runners."""


class Loader:
    """The supervisor's end."""

    def __init__(self, serve: Serve) -> None:
        """Forks it. The caller has one thread and no connection."""
        self._line, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            _Nursery(theirs, serve).serve()
        theirs.close()
        self._read = b""

    def fileno(self) -> int:
        """Readable when there is news."""
        return self._line.fileno()

    def fork(self, serial: int, place: int) -> socket.socket:
        """Ask for a runner; its line. Raises LoaderGone."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._line, [_packed(serial, place)], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise LoaderGone from error
        return ours

    def news(self) -> list[Born | Died]:
        """What has happened since the last call. Raises LoaderGone."""
        try:
            read = self._line.recv(65_536)
        except OSError as error:
            raise LoaderGone from error
        if not read:
            raise LoaderGone
        *lines, self._read = (self._read + read).split(b"\n")
        return [_event(json.loads(line)) for line in lines]

    def close(self) -> None:
        """The loader ends; runners that still run are told the same by their own lines."""
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _event(words: dict[str, int]) -> Born | Died:
    return Born(**words) if "serial" in words else Died(**words)


_REQUEST_BYTES = 16


def _packed(serial: int, place: int) -> bytes:
    return serial.to_bytes(8, "big") + place.to_bytes(8, "big")


class _Nursery:
    """The loader itself."""

    def __init__(self, line: socket.socket, serve: Serve) -> None:
        self._line = line
        self._serve = serve

    def serve(self) -> NoReturn:
        """Fork on request and tell of deaths, until the supervisor is gone."""
        # The supervisor alone decides what a signal to the whole group means. A handler of Python's and not SIG_IGN,
        # which would be inherited by every program that a task starts.
        for number in SIGNALS:
            signal.signal(number, _pass_over)
        woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        woken.setblocking(False)
        signal.signal(signal.SIGCHLD, _pass_over)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        gc.collect()
        gc.freeze()
        try:
            while True:
                readable, _, _ = select.select([self._line, woken], [], [])
                if woken in readable:
                    woken.recv(4096)
                self._tell_of_the_dead()
                if self._line in readable:
                    self._fork((woken, wakes))
        except BaseException:
            logger.critical("the loader ended", exc_info=True)
        finally:
            os._exit(1)

    def _fork(self, others: tuple[socket.socket, ...]) -> None:
        request, fds, _, _ = socket.recv_fds(self._line, _REQUEST_BYTES, 1)
        if not request:
            os._exit(0)
        serial, place = int.from_bytes(request[:8], "big"), int.from_bytes(request[8:], "big")
        with socket.socket(fileno=fds[0]) as line:
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (self._line, *others):
                    each.close()
                _live(self._serve, serial, place, line)
        self._tell(serial=serial, pid=pid)

    def _tell_of_the_dead(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._tell(pid=pid, status=status)

    def _tell(self, **words: Any) -> None:
        try:
            self._line.sendall(json.dumps(words).encode() + b"\n")
        except OSError:
            os._exit(0)


def _live(serve: Serve, serial: int, place: int, line: socket.socket) -> NoReturn:
    code = 1
    try:
        code = serve(serial, place, line)
    except BaseException:
        logger.critical("a runner ended runner=%d", serial, exc_info=True)
    finally:
        logging.shutdown()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _pass_over(*_: object) -> None:
    """A signal that is somebody else's business."""
