"""A task as a person or a program is told of it."""

from typing import Any

import msgspec

from queue_app import arguments
from queue_app.core import codec
from queue_app.core.answers import Snapshot
from queue_app.core.errors import ForgeQueueError, UndecodableBody
from queue_app.core.states import State
from queue_app.core.task import AttemptError, Task
from queue_app.management.verbs.showing import as_time, harmless, one_line

LONGEST_ERROR = 60
LONGEST_VALUE = 2_000
AT = {
    State.SCHEDULED: "due",
    State.RETRYING: "due",
    State.RUNNING: "lease until",
    State.SUCCEEDED: "finished",
    State.DEAD: "died",
    State.CANCELLED: "cancelled",
}
"""What the time of a snapshot is, by state."""
HEADINGS = ("ID", "QUEUE", "STATE", "TYPE", "ATTEMPTS", "AT", "ERROR")


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """For programs: the place of the task, and its body as it is stored, payload in Base64."""
    told: dict[str, Any] = {
        "id": snapshot.id,
        "queue": snapshot.queue,
        "state": snapshot.state.value,
        "at": snapshot.at,
        "cancel_requested": snapshot.cancel_requested,
    }
    try:
        told["task"] = msgspec.to_builtins(codec.decode(snapshot.body, snapshot.id))
    except UndecodableBody as error:
        told["problem"] = str(error)
    if snapshot.result is not None:
        told["result"] = _result(snapshot.result)
    return told


def row(snapshot: Snapshot) -> tuple[object, ...]:
    """For a table: see HEADINGS."""
    at = as_time(snapshot.at)
    try:
        task = codec.decode(snapshot.body, snapshot.id)
    except UndecodableBody as error:
        told = one_line(f"cannot be decoded: {error}", LONGEST_ERROR)
        return snapshot.id, snapshot.queue, snapshot.state, "?", 0, at, told
    error_text = _error(task.last_error) if task.last_error else "-"
    return snapshot.id, snapshot.queue, snapshot.state, task.task_type, task.attempts, at, error_text


def type_of(snapshot: Snapshot) -> str:
    """Its task type, or nothing for a body that cannot be read."""
    try:
        return codec.decode(snapshot.body, snapshot.id).task_type
    except UndecodableBody:
        return ""


def described(snapshot: Snapshot) -> str:
    """For a person: everything, in lines."""
    lines = [f"{name:14}{value}" for name, value in _places(snapshot)]
    try:
        task = codec.decode(snapshot.body, snapshot.id)
    except UndecodableBody as problem:
        return "\n".join([*lines, f"{'problem':14}{harmless(str(problem))}", f"{'body':14}{_bytes(snapshot.body)}"])
    lines += [f"{name:14}{harmless(str(value))}" for name, value in _fields(task)]
    if snapshot.result is not None:
        lines.append(f"{'result':14}{harmless(str(_result(snapshot.result)))}")
    for error in task.errors:
        lines += [
            "",
            f"attempt {error.attempt} at {as_time(error.at)} {harmless(f'on {error.worker}' if error.worker else '')}",
        ]
        lines.append(f"  {harmless(error.type)}: {harmless(error.message)}")
        lines += [f"  {harmless(line)}" for line in error.traceback.splitlines()]
    return "\n".join(lines)


def _places(snapshot: Snapshot) -> list[tuple[str, str]]:
    places = [("id", harmless(snapshot.id)), ("queue", snapshot.queue), ("state", snapshot.state.value)]
    if snapshot.state in AT:
        places.append((AT[snapshot.state], as_time(snapshot.at)))
    if snapshot.cancel_requested:
        places.append(("cancel", "requested"))
    return places


def _fields(task: Task) -> list[tuple[str, object]]:
    limit = "no limit" if task.max_attempts is None else task.max_attempts
    fields: list[tuple[str, object]] = [
        ("type", task.task_type),
        ("attempts", f"{task.attempts} of {limit}"),
        ("arguments", _payload(task.payload)),
        ("priority", task.priority),
        ("enqueued", as_time(task.enqueued_at)),
    ]
    others = {
        "expires": as_time(task.expires_at) if task.expires_at else "",
        "timeout": f"{task.timeout:g} s" if task.timeout else "",
        "hard timeout": f"{task.hard_timeout:g} s" if task.hard_timeout else "",
        "tags": ", ".join(task.tags),
        "key": task.idempotency_key or "",
        "revived": task.revived or "",
        "cancelled for": task.cancel_reason,
    }
    return [*fields, *((name, value) for name, value in others.items() if value)]


def _payload(payload: bytes | None) -> str:
    """Arguments as one would write the call; bytes that are none as they are."""
    try:
        args, kwargs = arguments.decode(payload)
    except ForgeQueueError:
        return _bytes(payload or b"")
    words = [repr(each) for each in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return _cut(", ".join(words) or "none")


def _result(result: bytes) -> object:
    try:
        return _cut(repr(arguments.decode_result(result)))
    except ForgeQueueError as error:
        return str(error)


def _error(error: AttemptError) -> str:
    return one_line(f"{error.type}: {error.message}", LONGEST_ERROR)


def _bytes(raw: bytes) -> str:
    return _cut(repr(raw))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"
