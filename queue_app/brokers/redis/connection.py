"""From a URL to a client, made in one place with redis-py's traps disarmed.

redis-py 8 gives every socket a 5 s timeout, which ends a blocking read of 7 s after a minute, and its `Redis` class
sends a command again after a timeout, so that one INCR counts twice. Here the library never repeats a command and
blocking reads have lines and timeouts of their own. We repeat a call once, and only when an idle line turned out to
be dead; every call of the broker is replayable, so that does no harm.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

import msgspec
import redis
import redis.cluster
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from queue_app.brokers.redis.scripts import Script
from queue_app.core.errors import ConfigurationError, StoreRefused, StoreUnavailable
from queue_app.core.showing import safe_url

COMMAND_TIMEOUT_SECONDS = 5.0
CONNECT_TIMEOUT_SECONDS = 5.0
IDLE_LINES = 64
"""A server keeps at most this many lines open between calls; more than that are closed after use."""
BLOCKING_MARGIN_SECONDS = 2.0
"""A blocking read may last this much longer than it asked for before the line counts as dead."""

SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")

_UNAVAILABLE = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.TryAgainError,
    redis.exceptions.MasterDownError,
    # Not a RedisError: "no node answers", and the like.
    redis.exceptions.RedisClusterException,
    OSError,
)

Reply: TypeAlias = Any


class Call(msgspec.Struct, frozen=True):
    """One run of a script: its keys, then its arguments."""

    script: Script
    keys: tuple[str, ...]
    arguments: Sequence[str | bytes | int | float]

    def words(self, verb: str, source: str) -> list[str | bytes | int | float]:
        """The command, as EVALSHA with the script's name or as EVAL with its text."""
        return [verb, source, len(self.keys), *self.keys, *self.arguments]


class Connection(Protocol):
    """What the broker needs of a server or a cluster. Raises StoreUnavailable and StoreRefused, nothing else."""

    is_cluster: bool

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        """Run scripts, in one trip where one server holds them all."""
        ...

    def command(self, *words: str | bytes | int | float) -> Reply:
        """Run one plain command."""
        ...

    def block(self, lists: Sequence[str], timeout_seconds: float) -> str | None:
        """Wait for an entry in one of `lists` and take it; which list, or None after the timeout."""
        ...

    def close(self) -> None:
        """Close every line; a later call opens new ones."""
        ...


def connect(url: str) -> Connection:
    """A connection for a `redis://`, `rediss://`, `unix://` or `redis+cluster://` URL, or a bare `host:port`.

    Nothing is sent before the first call. Raises ConfigurationError for any other URL, without showing a password.
    """
    if "://" not in url:
        url = f"redis://{url}"
    scheme = urlsplit(url).scheme
    if scheme not in SCHEMES:
        raise ConfigurationError(f"{safe_url(url)!r} does not begin with {', '.join(f'{each}://' for each in SCHEMES)}")
    try:
        return Cluster(url.replace("+cluster", "", 1)) if "+cluster" in scheme else Server(url)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{safe_url(url)!r} is no usable Redis URL: {type(error).__name__}") from None


@contextmanager
def told_as_ours(*command: object) -> Iterator[None]:
    """Turns the library's errors into ours; a refused `command` is named with its key, which the server does not do."""
    try:
        yield
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"{type(error).__name__}: {error}") from error
    except redis.RedisError as error:
        about = f"{' '.join(map(str, command[:2]))}: " if command else ""
        raise StoreRefused(f"{about}{error}") from error


class Server:
    """One Redis or Valkey server. Lines are kept when idle, one per thread that called at the same time."""

    is_cluster = False

    def __init__(self, url: str) -> None:
        self._lines = redis.ConnectionPool.from_url(url, **_options(url))
        # Also finds out, before anything is sent, that the URL has an option which does not exist.
        self._new_line()
        self._pid = os.getpid()
        self._idle: list[AbstractConnection] = []
        self._blocking = threading.local()

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        with told_as_ours():
            replies = self._exchange([call.words("EVALSHA", call.script.sha) for call in calls])
            for index, reply in enumerate(replies):
                if isinstance(reply, redis.exceptions.NoScriptError):
                    # EVAL runs the script and caches it: it cannot be flushed in between.
                    call = calls[index]
                    (replies[index],) = self._exchange([call.words("EVAL", call.script.source)])
            return [_raised(reply) for reply in replies]

    def command(self, *words: str | bytes | int | float) -> Reply:
        with told_as_ours(*words):
            return _raised(self._exchange([words])[0])

    def block(self, lists: Sequence[str], timeout_seconds: float) -> str | None:
        with told_as_ours():
            line = self._blocking_line()
            try:
                line.send_command("BLPOP", *lists, timeout_seconds, check_health=False)
                reply = line.read_response(timeout=timeout_seconds + BLOCKING_MARGIN_SECONDS)
            except redis.ResponseError:
                raise
            except BaseException:
                line.disconnect()
                raise
            return reply[0].decode() if reply else None

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for line in idle:
            line.disconnect()
        if hasattr(self._blocking, "line"):
            self._blocking.line.disconnect()

    def _exchange(self, commands: Sequence[Sequence[str | bytes | int | float]]) -> list[Reply]:
        idle_line = self._idle_line()
        if idle_line is not None:
            try:
                return self._exchange_over(idle_line, commands)
            except (redis.ConnectionError, OSError) as error:
                # The server may have closed it long ago; when it did so just now, a replay does no harm.
                if isinstance(error, redis.TimeoutError):
                    raise
        return self._exchange_over(self._new_line(), commands)

    def _exchange_over(
        self, line: AbstractConnection, commands: Sequence[Sequence[str | bytes | int | float]]
    ) -> list[Reply]:
        try:
            if len(commands) == 1:
                line.send_command(*commands[0], check_health=False)
            else:
                line.send_packed_command(line.pack_commands(commands), check_health=False)
            replies = [_reply(line) for _ in commands]
        except BaseException:
            # Also for an exception that was thrown into this thread: a reply may still be on its way.
            line.disconnect()
            raise
        if len(self._idle) < IDLE_LINES:
            self._idle.append(line)
        else:
            line.disconnect()
        return replies

    def _new_line(self) -> AbstractConnection:
        # Not from the pool: it counts what it has made, and after a hundred lines, closed ones too, it makes no more.
        return cast("AbstractConnection", self._lines.connection_class(**self._lines.connection_kwargs))

    def _idle_line(self) -> AbstractConnection | None:
        if self._pid != os.getpid():
            # A forked child must not speak on its parent's sockets, nor close them.
            self._pid, self._idle, self._blocking = os.getpid(), [], threading.local()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _blocking_line(self) -> AbstractConnection:
        if self._pid != os.getpid() or not hasattr(self._blocking, "line"):
            self._blocking.line = self._new_line()
        line: AbstractConnection = self._blocking.line
        return line


class Cluster:
    """A Redis Cluster. A queue's keys are in one slot, so every script runs on one node."""

    is_cluster = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: redis.cluster.RedisCluster | None = None

    def run(self, calls: Sequence[Call]) -> list[Reply]:
        return [self._run_one(call) for call in calls]

    def command(self, *words: str | bytes | int | float) -> Reply:
        with told_as_ours(*words):
            reply = self._connected().execute_command(*words)
        # The library makes a dict of what HGETALL answers; from a server it comes flat, name after name.
        return [word for pair in reply.items() for word in pair] if isinstance(reply, dict) else reply

    def block(self, lists: Sequence[str], timeout_seconds: float) -> str | None:
        """One blocking call at a time: lists of several slots share the timeout."""
        share = max(timeout_seconds / len(lists), 0.01)
        for name in lists:
            with told_as_ours():
                if self._connected().execute_command("BLPOP", name, min(share, COMMAND_TIMEOUT_SECONDS / 2)):
                    return name
        return None

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _run_one(self, call: Call) -> Reply:
        with told_as_ours():
            client = self._connected()
            try:
                return client.execute_command(*call.words("EVALSHA", call.script.sha))
            except redis.exceptions.NoScriptError:
                return client.execute_command(*call.words("EVAL", call.script.source))

    def _connected(self) -> redis.cluster.RedisCluster:
        if self._client is None:
            self._client = redis.cluster.RedisCluster.from_url(self._url, **_options(self._url))
        return self._client


def _options(url: str) -> dict[str, Any]:
    options = {"protocol": 2, "socket_timeout": COMMAND_TIMEOUT_SECONDS, "retry": Retry(NoBackoff(), 0)}
    if not url.startswith("unix:"):
        options |= {"socket_connect_timeout": CONNECT_TIMEOUT_SECONDS, "socket_keepalive": True}
    return options


def _reply(line: AbstractConnection) -> Reply:
    """A reply of the server; a refusal is one too, and leaves the line fit for the next."""
    try:
        return line.read_response()
    except redis.ResponseError as error:
        return error


def _raised(reply: Reply) -> Reply:
    if isinstance(reply, redis.ResponseError):
        raise reply
    return reply
