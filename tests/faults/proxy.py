"""A proxy between a client and Redis that does to single requests what networks do.

It reads whole requests and whole replies (RESP2, redis.io/docs/latest/develop/reference/protocol-spec), so "the reply
of the third EVALSHA is lost" is exact. What it does to a request is decided by `plan`, which is asked once for each,
with its number and its words.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from io import BufferedReader
from urllib.parse import urlsplit


class Fault(Enum):
    """What becomes of a request."""

    REFUSED = "the connection is cut, and the server never sees the request"
    REPLY_LOST = "the server does it, and the connection is cut before a byte of the reply has arrived"
    REPLY_CUT = "the same, with half of the reply arrived"
    BLACK_HOLE = "nothing ever comes back, and the connection stays open; the server never sees the request"
    HALF_OPEN = "the server does it; nothing ever comes back, and the connection stays open"


@dataclass(frozen=True)
class Delayed:
    """The request arrives so many seconds late."""

    seconds: float


@dataclass(frozen=True)
class Request:
    """One request of some client; numbers count from 1 over all of them."""

    number: int
    words: tuple[bytes, ...]

    @property
    def name(self) -> str:
        """The command."""
        return self.words[0].decode().upper()


Plan = Callable[[Request], Fault | Delayed | None]


def no_faults(_: Request) -> None:
    """Everything goes through."""


class Proxy:
    """Listens on a port of its own for as long as it is not closed."""

    def __init__(self, upstream: str) -> None:
        """`upstream` is a `redis://host:port` or `unix://path` URL."""
        self.plan: Plan = no_faults
        self.requests: list[Request] = []
        self._upstream = urlsplit(upstream)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """For the client."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def cut_all(self) -> None:
        """Every connection ends now; new ones are taken."""
        for each in self._taken():
            _end(each)

    def close(self) -> None:
        """The proxy ends, with every connection."""
        self._is_closed.set()
        with suppress(OSError):
            # Wakes the thread that waits in accept.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def _taken(self) -> list[socket.socket]:
        with self._lock:
            taken, self._open = list(self._open), set()
        return taken

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = self._connected()
        except OSError:
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
        with client, server, client.makefile("rb") as asks, server.makefile("rb") as answers, suppress(OSError):
            while (raw := read_frame(asks)) and self._pass(raw, client, server, answers):
                pass
            _end(client)
            _end(server)

    def _pass(self, raw: bytes, client: socket.socket, server: socket.socket, answers: BufferedReader) -> bool:
        """One request and its reply. False when the connection is over."""
        fault = self.plan(self._noted(raw))
        if isinstance(fault, Delayed):
            time.sleep(fault.seconds)
        if fault is Fault.REFUSED:
            return False
        if fault is not Fault.BLACK_HOLE:
            server.sendall(raw)
            reply = read_frame(answers)
        if fault in (Fault.BLACK_HOLE, Fault.HALF_OPEN):
            # Until the client gives up and closes, or the proxy ends.
            return bool(client.recv(1)) and False
        if fault is Fault.REPLY_CUT:
            client.sendall(reply[: max(len(reply) // 2, 1)])
        if fault in (Fault.REPLY_LOST, Fault.REPLY_CUT) or not reply:
            return False
        client.sendall(reply)
        return True

    def _noted(self, raw: bytes) -> Request:
        with self._lock:
            request = Request(len(self.requests) + 1, words_of(raw))
            self.requests.append(request)
        return request

    def _connected(self) -> socket.socket:
        if self._upstream.scheme == "unix":
            line = socket.socket(socket.AF_UNIX)
            line.connect(self._upstream.path)
            return line
        return socket.create_connection((self._upstream.hostname or "", self._upstream.port or 6379))


def read_frame(stream: BufferedReader) -> bytes:
    """The bytes of one request or reply; nothing at the end of the stream."""
    head = stream.readline()
    kind, rest = head[:1], head[1:].strip()
    if kind == b"*":
        return head + b"".join(read_frame(stream) for _ in range(max(int(rest), 0)))
    if kind == b"$" and int(rest) >= 0:
        return head + stream.read(int(rest) + 2)
    return head


def words_of(raw: bytes) -> tuple[bytes, ...]:
    """The words of a request."""
    words, at = [], raw.index(b"\r\n") + 2
    while at < len(raw):
        end = raw.index(b"\r\n", at)
        size = int(raw[at + 1 : end])
        words.append(raw[end + 2 : end + 2 + size])
        at = end + 4 + size
    return tuple(words)


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
