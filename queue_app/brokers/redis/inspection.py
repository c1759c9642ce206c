"""A full walk of every key of an installation, which names each disagreement. For people and tests, not for traffic.

It reads whole structures, and reads them one after another: on a store in use it can report what only moved.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from queue_app.brokers.redis import words
from queue_app.brokers.redis.connection import Connection
from queue_app.brokers.redis.keys import STRUCTURES, Keys
from queue_app.core.errors import StoreRefused

SPACES = ("queue:", "task:", "finished:", "result:")
"""What the names of our keys begin with, after the prefix, but for the few that are named in full."""
_FINISHED = ("succeeded", "dead_ids", "cancelled")


@dataclass(frozen=True)
class QueueContents:
    """Everything that stands in one queue's structures."""

    name: str
    lists: dict[str, list[str]]
    zsets: dict[str, dict[str, float]]
    hashes: dict[str, dict[str, str]]

    @cached_property
    def stale(self) -> dict[str, int]:
        """How many entries of each id are left over in the list."""
        return {task_id: _number(times) for task_id, times in self.hashes["tombstones"].items() if task_id != "*"}

    @cached_property
    def listed(self) -> Counter[str]:
        """How often each id stands in the list and counts."""
        counted = Counter(self.lists["immediate"])
        counted.subtract(self.stale)
        return +counted

    def places(self, task_id: str) -> list[str]:
        """The structures that say where the task is; a healthy one has exactly one."""
        found = ["immediate"] * self.listed[task_id]
        for structure in ("above", "below", "scheduled", "inflight", *_FINISHED):
            if task_id in self.zsets[structure]:
                found.append(structure)
        return found

    @cached_property
    def ids(self) -> set[str]:
        """Every id that some structure places."""
        zsets = ("above", "below", "scheduled", "inflight", *_FINISHED)
        return set(self.listed).union(*(self.zsets[structure] for structure in zsets))


def inspect(connection: Connection, prefix: str = "") -> list[str]:
    """Every disagreement in the keys of this installation, in plain words; none when all is well."""
    return sorted(Inspection(connection, Keys(prefix, connection.is_cluster)).problems())


class Inspection:
    """One walk."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys
        self._owned: set[str] = {keys.queues, keys.workers, f"{keys.workers}:seen", keys.paused}
        self._all = set(self._scan())
        self._of_another_type: list[str] = []

    def problems(self) -> Iterator[str]:
        members = self._read_key("SMEMBERS", self._keys.queues)
        names = words.to_queues(members)
        for foreign in {member for member in members if member.decode("utf-8", "replace") not in names}:
            yield f"{self._keys.queues}: has {foreign!r}, which no queue can be called"
        for name in names:
            self._owned |= {self._keys.structure(name, structure) for structure in STRUCTURES}
            self._owned.add(self._keys.paused_all(name))
            contents = self._read(name)
            yield from self._check_places(contents)
            yield from self._check_companions(contents)
            yield from self._check_tombstones(contents)
        yield from self._of_another_type
        for key in sorted(self._all - self._owned):
            yield f"{key}: no queue owns this key"

    def _check_places(self, contents: QueueContents) -> Iterator[str]:
        for task_id in contents.ids:
            places = contents.places(task_id)
            if len(places) > 1:
                yield f"{task_id}: in more than one place of {contents.name}: {', '.join(places)}"
            body = self._body_key(contents.name, task_id, places)
            if body not in self._all:
                yield f"{task_id}: in {places[0]} of {contents.name} without the body {body}"
            self._owned.add(body)
            if "succeeded" in places:
                self._owned.add(self._keys.result(contents.name, task_id))

    def _body_key(self, queue: str, task_id: str, places: list[str]) -> str:
        if places[0] in ("succeeded", "cancelled"):
            return self._keys.finished(queue, task_id)
        return self._keys.task(queue, task_id)

    def _check_companions(self, contents: QueueContents) -> Iterator[str]:
        """What stands beside the places and must not outlive them."""
        zsets, hashes = contents.zsets, contents.hashes
        waiting = contents.ids.difference(*(zsets[state] for state in _FINISHED))
        yield from self._stray(contents, "leases", hashes["leases"], zsets["inflight"])
        yield from self._stray(contents, "inflight", zsets["inflight"], hashes["leases"])
        yield from self._stray(contents, "retrying", zsets["retrying"], zsets["scheduled"])
        yield from self._stray(contents, "cancels", hashes["cancels"], hashes["leases"])
        yield from self._stray(contents, "priority_of", hashes["priority_of"], waiting)
        yield from self._stray(contents, "settled", hashes["settled"], contents.ids)
        yield from self._stray(contents, "above or below", [*zsets["above"], *zsets["below"]], hashes["priority_of"])
        yield from self._stray(contents, "keys", hashes["keys"], zsets["keys:until"])
        yield from self._stray(contents, "keys:until", zsets["keys:until"], hashes["keys"])
        for state in _FINISHED:
            yield from self._stray(contents, f"{state}:until", zsets[f"{state}:until"], zsets[state])

    def _stray(
        self, contents: QueueContents, structure: str, has: Iterable[str], owners: Iterable[str]
    ) -> Iterator[str]:
        for each in set(has) - set(owners):
            yield f"{each}: in {structure} of {contents.name}, which it does not belong in"

    def _check_tombstones(self, contents: QueueContents) -> Iterator[str]:
        total = _number(contents.hashes["tombstones"].get("*", "0"))
        if total != sum(contents.stale.values()):
            yield f"tombstones of {contents.name} say {total} in all and {sum(contents.stale.values())} one by one"
        entries = Counter(contents.lists["immediate"])
        for task_id, times in contents.stale.items():
            if times > entries[task_id]:
                yield f"{task_id}: {times} tombstones in {contents.name} for {entries[task_id]} entries"

    def _read(self, name: str) -> QueueContents:
        def key(structure: str) -> str:
            return self._keys.structure(name, structure)

        def of_type(kind: str) -> list[str]:
            return [structure for structure, its in STRUCTURES.items() if its == kind]

        read = self._read_key
        return QueueContents(
            name,
            {each: _texts(read("LRANGE", key(each), 0, -1)) for each in of_type("list")},
            {each: _scores(read("ZRANGE", key(each), 0, -1, "WITHSCORES")) for each in of_type("zset")},
            {each: _fields(read("HGETALL", key(each))) for each in of_type("hash")},
        )

    def _read_key(self, command: str, key: str, *words: str | int) -> list[bytes]:
        """What it holds; nothing when it is of another type, which is told at the end."""
        try:
            held: list[bytes] = self._connection.command(command, key, *words)
        except StoreRefused as refusal:
            self._of_another_type.append(f"{key}: is of another type ({refusal})")
            return []
        return held

    def _scan(self) -> Iterator[str]:
        """Every key that is ours by its name; without a prefix others may keep theirs on the same server."""
        prefix = self._keys.prefix
        spaces = tuple(f"{prefix}{space}" for space in SPACES)
        cursor: bytes | int = 0
        while True:
            cursor, found = self._connection.command("SCAN", cursor, "MATCH", f"{_escaped(prefix)}*", "COUNT", 1000)
            yield from (key for key in _texts(found) if key.startswith(spaces) or key in self._owned)
            if int(cursor) == 0:
                return


def _number(text: str) -> int:
    """A count that others may have written: what is none counts as nothing, and the sums disagree."""
    try:
        return int(text)
    except ValueError:
        return 0


def _escaped(prefix: str) -> str:
    """A prefix as a pattern: what a pattern would read otherwise is meant as it stands."""
    return "".join(f"\\{char}" if char in "*?[]^-\\" else char for char in prefix)


def _texts(reply: list[bytes]) -> list[str]:
    return [each.decode("utf-8", "replace") for each in reply]


def _fields(reply: list[bytes]) -> dict[str, str]:
    words = [each.decode("utf-8", "replace") for each in reply]
    return dict(zip(words[::2], words[1::2], strict=True))


def _scores(reply: list[bytes]) -> dict[str, float]:
    return {member: float(score) for member, score in _fields(reply).items()}
