"""A loopback port for the web site."""

import socket
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from django.core.management import CommandError

HOST = "127.0.0.1"
FIRST = 8000
TRIED = 50


def listen(wanted: int | None) -> socket.socket:
    """A listening socket on the wanted port, or on the first free one from 8000.

    Nobody can take the port between the choice and the server's start, which inherits the socket. Raises CommandError
    when the wanted port is taken, or all are.
    """
    for port in range(FIRST, FIRST + TRIED) if wanted is None else [wanted]:
        with suppress(OSError):
            return socket.create_server((HOST, port), backlog=128)
    taken = f"no port from {FIRST} to {FIRST + TRIED - 1} is free" if wanted is None else f"port {wanted} is taken"
    raise CommandError(f"{taken}; --port can name another.")


def answers(port: int) -> bool:
    """The site gives its first page within a second."""
    # Not urllib: that would ask a proxy which the environment names.
    connection = HTTPConnection(HOST, port, timeout=1)
    try:
        connection.request("HEAD", "/")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
