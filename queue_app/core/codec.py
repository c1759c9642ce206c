"""The wire form of a task: JSON, payload in base64. The only place that reads or writes a body."""

import json
from typing import Any

import msgspec

from queue_app.core.errors import NewerSchema, UndecodableBody
from queue_app.core.showing import shown
from queue_app.core.task import SCHEMA, Task

encode = msgspec.json.Encoder().encode
"""The bytes of a Task."""

_decoder = msgspec.json.Decoder(Task)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])

# A body that is nested some thousand deep raises the last of these, wherever in it that is.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Version(msgspec.Struct):
    schema: int = SCHEMA


_version = msgspec.json.Decoder(_Version)


def decode(body: bytes, task_id: str | None = None) -> Task:
    """The Task in `body`. Raises UndecodableBody (NewerSchema when upgrading would help) and says what is wrong.

    With `task_id`, a body that carries another id is refused: it stands under the wrong key.
    """
    try:
        task = _decoder.decode(body)
    except _UNREADABLE as error:
        _refuse_newer(_schema_of(body))
        raise UndecodableBody(str(error)) from error
    _refuse_newer(task.schema)
    if task_id is not None and task.id != task_id:
        raise UndecodableBody(f"the body carries the id {shown(task.id)}, not {shown(task_id)}")
    return task


def amend(body: bytes, **changes: Any) -> bytes:
    """`body` with some fields changed and every other one kept, known to this version or not. None drops a field.

    What is kept is kept byte for byte: a number has the digits that its producer gave it. A body that is no JSON
    object comes back as it is.
    """
    try:
        fields = _fields.decode(body)
    except _UNREADABLE:
        return body
    fields |= {name: msgspec.Raw(_encoded(value)) for name, value in changes.items()}
    for name, value in changes.items():
        if value is None:
            del fields[name]
    return encode(fields)


def _encoded(value: object) -> bytes:
    try:
        return encode(value)
    except UnicodeEncodeError:
        # Half a surrogate pair, as in the name of a file that is not UTF-8: no JSON can hold it.
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode(errors="replace")


def _refuse_newer(schema: int) -> None:
    if schema > SCHEMA:
        raise NewerSchema(f"schema {schema} is newer than {SCHEMA}, which this version reads")


def _schema_of(body: bytes) -> int:
    try:
        return _version.decode(body).schema
    except _UNREADABLE:
        return SCHEMA
