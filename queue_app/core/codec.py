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


def decode(body: bytes, task_id: str | None = None) -> Task:
    """The Task in `body`. Raises UndecodableBody (NewerSchema when upgrading would help) and says what is wrong.

    With `task_id`, a body that carries another id is refused: it stands under the wrong key.
    """
    try:
        task = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UndecodableBody(str(error)) from error
    if task.schema > SCHEMA:
        raise NewerSchema(f"schema {task.schema} is newer than {SCHEMA}, which this version reads")
    if task_id is not None and task.id != task_id:
        raise UndecodableBody(f"the body carries the id {shown(task.id)}, not {shown(task_id)}")
    return task


def amend(body: bytes, **changes: Any) -> bytes:
    """`body` with some fields changed and every other one kept, known to this version or not. None drops a field.

    A body that is no JSON object comes back as it is.
    """
    try:
        fields = json.loads(body)
    except ValueError:
        return body
    if not isinstance(fields, dict):
        return body
    fields |= msgspec.to_builtins(changes)
    return json.dumps(
        {name: value for name, value in fields.items() if value is not None or name not in changes},
        separators=(",", ":"),
        ensure_ascii=False,
    ).encode()
