"""Where the tasks of one queue stand."""

from collections.abc import Callable, Iterable

from queue_app.brokers.memory.events import Events, RecentList
from queue_app.brokers.memory.line import Line
from queue_app.brokers.memory.stored import Stored
from queue_app.brokers.memory.timeline import Timeline
from queue_app.core.retention import Retention
from queue_app.core.states import FINISHED, State

SWEPT_STATES = (State.SUCCEEDED, State.CANCELLED, State.DEAD)
"""The order in which a sweep that has a limit comes to them."""


class Queue:
    """A task stands in exactly one place: the line when it is ready, else the timeline of its state.

    `tasks` is shared by all queues, since an id is unique in the whole store.
    """

    def __init__(self, name: str, tasks: dict[str, Stored], retention: Retention, wake: Callable[[], None]) -> None:
        self.name = name
        self.tasks = tasks
        self.retention = retention
        self.line = Line()
        self.by_time: dict[State, Timeline] = {state: Timeline() for state in State if state is not State.READY}
        self.events = Events()
        self.recent = RecentList()
        self.is_paused = False
        self.has_marker = False
        self._until = {state: Timeline() for state in FINISHED}
        self._wake = wake

    # --- looking --------------------------------------------------------------------------------------------------

    def find(self, task_id: str, now: float) -> Stored | None:
        """The task, when it is in this queue and not past retention."""
        task = self.tasks.get(task_id)
        return task if task and task.queue == self.name and not task.is_past(now) else None

    def knows(self, task_id: str, now: float) -> bool:
        """Whether the id is taken. Of another queue's record nobody can say here that it is past: the sweeper will."""
        task = self.tasks.get(task_id)
        return task is not None and not (task.queue == self.name and task.is_past(now))

    def owned(self, task_id: str, token: str) -> Stored | None:
        """The task, when it runs in this queue under this token."""
        task = self.tasks.get(task_id)
        return task if task and task.queue == self.name and task.token == token else None

    @property
    def next_due_at(self) -> float | None:
        """When the first scheduled or retrying task is due."""
        first = [self.by_time[state].first for state in (State.SCHEDULED, State.RETRYING)]
        return min((at for at in first if at is not None), default=None)

    @property
    def next_expiry_at(self) -> float | None:
        """When the first lease ends."""
        return self.by_time[State.RUNNING].first

    def count(self, state: State, now: float) -> int:
        """How many tasks are in that state; records past retention are in none."""
        if state is State.READY:
            return len(self.line)
        past = self._until[state].count_until(now) if state.is_finished else 0
        return len(self.by_time[state]) - past

    def ids(self, state: State) -> Iterable[str]:
        """Its tasks of one state: in the order of claiming, by time, or finished ones newest first."""
        if state is State.READY:
            return self.line
        return reversed(self.by_time[state]) if state.is_finished else self.by_time[state]

    def due(self, now: float, limit: int) -> list[Stored]:
        """Scheduled and retrying tasks whose time has come, oldest due first."""
        both = [each for state in (State.SCHEDULED, State.RETRYING) for each in self.by_time[state].until(now, limit)]
        return [self.tasks[task_id] for _, task_id in sorted(both)[:limit]]

    def expired(self, now: float, limit: int) -> list[Stored]:
        """Running tasks whose lease has run out, oldest first."""
        return [self.tasks[task_id] for _, task_id in self.by_time[State.RUNNING].until(now, limit)]

    def past(self, now: float, limit: int) -> list[Stored]:
        """Finished tasks whose retention is over."""
        ids = [task_id for state in SWEPT_STATES for _, task_id in self._until[state].until(now, limit)]
        return [self.tasks[task_id] for task_id in ids[:limit]]

    # --- moving ---------------------------------------------------------------------------------------------------

    def put(self, task: Stored, *, at_head: bool = False) -> None:
        """Let it stand where its state says. Wakes a worker when there is something to do, or earlier than before."""
        self.tasks[task.id] = task
        if task.at is None:
            push = self.line.push_head if at_head else self.line.push_tail
            push(task.id, task.priority)
            self.ring()
            return
        if task.state.is_waiting and (self.next_due_at is None or task.at < self.next_due_at):
            self.ring()
        self.by_time[task.state].add(task.id, task.at)
        if task.keep_until is not None:
            self._until[task.state].add(task.id, task.keep_until)

    def move(self, task: Stored, state: State, at: float | None = None, *, at_head: bool = False) -> None:
        """Out of its place, into another one. Nobody owns it there, unless the caller says so."""
        self._take(task)
        task.state, task.at, task.keep_until = state, at, None
        task.token, task.mark, task.result = None, "", None
        self.put(task, at_head=at_head)

    def finish(self, task: Stored, state: State, keep_seconds: float | None, now: float) -> None:
        """Into one of the finished states, kept that long, or for ever."""
        self._take(task)
        task.state, task.at, task.token, task.mark = state, now, None, ""
        task.keep_until = None if keep_seconds is None else now + keep_seconds
        self.put(task)

    def drop(self, task: Stored) -> None:
        """Out of the store."""
        self._take(task)
        del self.tasks[task.id]

    def renew(self, task: Stored, until: float) -> None:
        """Move the end of a lease."""
        self._take(task)
        task.at = until
        self.put(task)

    def _take(self, task: Stored) -> None:
        if task.at is None:
            self.line.remove(task.id, task.priority)
            return
        self.by_time[task.state].remove(task.id, task.at)
        if task.keep_until is not None:
            self._until[task.state].remove(task.id, task.keep_until)

    # --- waking ---------------------------------------------------------------------------------------------------

    def ring(self) -> None:
        """Leave a marker, at most one, for whoever waits."""
        self.has_marker = True
        self._wake()

    def take_marker(self) -> bool:
        """Whether there was one."""
        had, self.has_marker = self.has_marker, False
        return had
