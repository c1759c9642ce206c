"""What the worker's tests are made of: a worker that was never started, whose parts a test moves by hand."""

import json
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from queue_app.brokers.base import Broker
from queue_app.core import ids
from queue_app.core.answers import Snapshot
from queue_app.core.errors import StoreUnavailable, UnknownTaskType
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.clock import FakeClock
from queue_app.worker.loop import Loop
from queue_app.worker.options import WorkerOptions
from queue_app.worker.outage import Complaints, OutageLog
from queue_app.worker.slot import Slot
from queue_app.worker.worker import Worker, lone_worker

LEASE = 10.0


class DeskStub:
    """Notes what duties report."""

    def __init__(self) -> None:
        self.outages = OutageLog()
        self.complaints = Complaints()
        self.gave_up: list[BaseException] = []

    def duty_gave_up(self, duty: Loop, error: BaseException) -> None:
        self.gave_up.append(error)


class HandlerStub:
    """A function as a handler; its payload is the JSON list of its arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        takes_context: bool = False,
        is_async: bool = False,
        backoff: Callable[[int, BaseException], float] | None = None,
    ) -> None:
        self._function = function
        self._takes_context = takes_context
        self.is_async = is_async
        self.is_plain = not (takes_context or is_async)
        self.backoff_callable = backoff

    def call(self, task: Task, context: Any = None) -> Any:
        arguments = json.loads(task.payload or b"[]")
        return self._function(*([context] if self._takes_context else []), *arguments)

    def encode_result(self, value: Any) -> bytes:
        return json.dumps(value).encode()


class Kit:
    """A worker, its store, and the time of both."""

    def __init__(self, broker: Any, time: FakeClock | None, **options: Any) -> None:
        self._clock = time.now if time else monotonic
        self.time = time or FakeClock()
        self.broker = broker
        self.handlers: dict[str, HandlerStub] = {}
        self.ran: list[Any] = []
        self.handle("noop", self.ran.append)
        self.worker = self.another(**({"name": "w1"} | options))

    def another(self, **options: Any) -> Worker:
        """One more worker on the same store."""
        defaults = {"concurrency": 1, "lease_seconds": LEASE}
        return lone_worker(
            self.broker,
            WorkerOptions(**(defaults | options)),
            find=self._find,
            clock=self._clock,
        )

    @property
    def slot(self) -> Slot:
        """The worker's first slot."""
        return self.worker.runner.slots[0]

    def handle(self, task_type: str, function: Callable[..., Any], **how: Any) -> None:
        """`function` runs tasks of this type."""
        self.handlers[task_type] = HandlerStub(function, **how)

    def enqueue(self, task_type: str = "noop", *arguments: Any, delay: float = 0.0, **fields: Any) -> str:
        """Store a task with three retries. Returns its id."""
        task_id = fields.pop("id", None) or ids.new_id()
        payload = json.dumps([task_id] if task_type == "noop" else arguments).encode()
        defaults = {"max_retries": 3}
        task = Task(id=task_id, task_type=task_type, payload=payload, **(defaults | fields))
        self.broker.enqueue(task, delay_seconds=delay)
        return task_id

    def corrupt(self, task_id: str) -> None:
        """Cut the body of a ready task short."""
        (claimed,) = self.broker.claim("tasks", holder="corrupts:0")
        assert claimed.lease.task_id == task_id
        self.broker.retry(claimed.lease, b'{"id": "t1", "task_ty', delay_seconds=0.0)
        self.broker.promote("tasks")

    def work(self, worker: Worker | None = None) -> int:
        """Let the first slot go on until it finds nothing more to do. Returns how many batches it ran."""
        slot = (worker or self.worker).runner.slots[0]
        batches = 0
        while slot.cycle():
            batches += 1
        return batches

    def state(self, task_id: str) -> State | None:
        """Where the task is; None for one that has left."""
        snapshot = self.broker.find(task_id)
        return snapshot.state if snapshot else None

    def get(self, task_id: str) -> Snapshot:
        """The task."""
        return self.broker.get(task_id)

    def _find(self, task_type: str) -> HandlerStub:
        try:
            return self.handlers[task_type]
        except KeyError:
            raise UnknownTaskType(task_type) from None


class Faulty:
    """A broker of which single calls fail, before or after they have happened."""

    def __init__(self, inner: Broker) -> None:
        self._inner = inner
        self._faults: list[tuple[str, bool, Exception]] = []
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.is_down = False

    def fail_next(self, verb: str, error: Exception | None = None, *, after: bool = False) -> None:
        """The next call of `verb` fails; with `after`, when it has already happened: only its reply is lost."""
        self._faults.append((verb, after, error or StoreUnavailable("connection reset")))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._guarded(name, found) if callable(found) else found

    def _guarded(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            self.calls.append((verb, arguments, options))
            if self.is_down:
                raise StoreUnavailable("connection refused")
            fault = next((each for each in self._faults if each[0] == verb), None)
            if fault is None:
                return call(*arguments, **options)
            self._faults.remove(fault)
            if fault[1]:
                call(*arguments, **options)
            raise fault[2]

        return guarded


def lines(caplog: pytest.LogCaptureFixture, start: str) -> list[str]:
    """The lines of the log that begin so."""
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith(start)]
