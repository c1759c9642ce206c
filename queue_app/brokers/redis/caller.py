"""How scripts are called: with the names that every script of a queue takes first, and with errors that say more."""

from collections.abc import Sequence
from typing import TypeAlias

from queue_app.brokers.redis.connection import Call, Connection, Reply
from queue_app.brokers.redis.keys import STRUCTURES, Keys
from queue_app.brokers.redis.scripts import load
from queue_app.core.clock import Clock
from queue_app.core.errors import StoreRefused

Word: TypeAlias = str | bytes | int | float
Names: TypeAlias = tuple[tuple[str, str], tuple[str, str, str]]


class Caller:
    """Runs scripts over one connection. Raises StoreUnavailable, and StoreRefused that names the queue and the key."""

    def __init__(self, connection: Connection, keys: Keys, clock: Clock | None) -> None:
        self._connection = connection
        self._keys = keys
        self._clock = clock
        self._names_of: dict[str, Names] = {}

    def run(self, script: str, queue: str, *arguments: Word) -> Reply:
        """Run a script of a queue; its answer."""
        return self.run_all(queue, [self.call(script, queue, *arguments)])[0]

    def run_all(self, queue: str, calls: Sequence[Call]) -> list[Reply]:
        """Run several in one trip; `queue` is the one to look at when one is refused."""
        try:
            return self._connection.run(calls)
        except StoreRefused as error:
            raise StoreRefused(self._explained(queue, error)) from error

    def call(self, script: str, queue: str, *arguments: Word) -> Call:
        """A script with the names of its queue, to be run."""
        keys, shared = self._names(queue)
        return Call(load(script), keys, (self._now_word(), *shared, *arguments))

    def run_apart(self, script: str, keys: tuple[str, ...], *arguments: Word) -> Reply:
        """Run a script that belongs to no queue."""
        try:
            return self._connection.run([Call(load(script), keys, (self._now_word(), *arguments))])[0]
        except StoreRefused as error:
            raise StoreRefused(f"{script} {' '.join(keys)}: {error}") from error

    def now(self) -> float:
        """The store's time; a testing broker's clock where it has one."""
        if self._clock is not None:
            return self._clock.now()
        seconds, microseconds = self._connection.command("TIME")
        return int(seconds) + int(microseconds) / 1_000_000

    def _now_word(self) -> Word:
        return "" if self._clock is None else repr(self._clock.now())

    def _names(self, queue: str) -> Names:
        """What every script of a queue is given: its base name and the flag of all, then three key prefixes."""
        names = self._names_of.get(queue)
        if names is None:
            keys = self._keys
            names = self._names_of[queue] = (
                (keys.queue(queue), keys.paused_all(queue)),
                (keys.task(queue), keys.finished(queue), keys.result(queue)),
            )
        return names

    def _explained(self, queue: str, error: StoreRefused) -> str:
        """The server's refusal; a key of a foreign type is named, which the server does not do."""
        if "WRONGTYPE" not in str(error):
            return f"queue={queue} {error}"
        foreign = [
            f"{key} is a {found}, not a {expected}"
            for structure, expected in STRUCTURES.items()
            if (found := self._type_of(key := self._keys.structure(queue, structure))) not in ("none", expected)
        ]
        return f"queue={queue} a key of another type is in the way: {'; '.join(foreign) or error}"

    def _type_of(self, key: str) -> str:
        found: bytes | str = self._connection.command("TYPE", key)
        return found.decode() if isinstance(found, bytes) else found
