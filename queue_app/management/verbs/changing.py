"""cancel, retry, delete, promote: changes of single tasks, or of all in a state."""

from queue_app.brokers.base import Broker
from queue_app.core.answers import Asked
from queue_app.core.names import valid_task_id
from queue_app.core.states import WAITING, State
from queue_app.management.verbs.acting import Act

IN_ORDER = tuple(State)


class Cancel(Act):
    """Those that wait end at once; those that run are asked to stop."""

    name = "cancel"
    help = "cancel tasks; one that runs is asked to stop"
    examples: tuple[str, ...] = (
        "cancel 01a23184-3589-7b90-a350-0fd669832a4f",
        "cancel --all --queue mail --state scheduled",
    )
    states: tuple[State, ...] = tuple(state for state in IN_ORDER if not state.is_finished)
    done, doing = "cancelled", "cancelling"
    is_far_reaching = True
    chooses_states = True

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        return broker.cancel(valid_task_id(task_id))


class Retry(Act):
    """Attempts start again from none; the errors are kept."""

    name = "retry"
    help = "put dead or cancelled tasks back in line"
    examples: tuple[str, ...] = ("retry 01a23184-3589-7b90-a350-0fd669832a4f", "retry --all --queue mail --state dead")
    states: tuple[State, ...] = (State.DEAD, State.CANCELLED)
    done, doing = "ready", "retrying"
    chooses_states = True

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        broker.revive(valid_task_id(task_id))
        return None


class Delete(Act):
    """Out of any state. One that runs goes when its worker hears of it."""

    name = "delete"
    help = "delete tasks for good, in any state"
    examples: tuple[str, ...] = (
        "delete 01a23184-3589-7b90-a350-0fd669832a4f",
        "delete --all --state succeeded,cancelled --yes",
    )
    states: tuple[State, ...] = IN_ORDER
    done, doing = "deleted", "deleting"
    destroys = True
    chooses_states = True

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        return broker.delete(valid_task_id(task_id))


class Promote(Act):
    """Scheduled or retrying tasks, before their time."""

    name = "promote"
    help = "make scheduled or retrying tasks ready now"
    examples: tuple[str, ...] = ("promote 01a23184-3589-7b90-a350-0fd669832a4f", "promote --all --queue mail")
    states: tuple[State, ...] = tuple(state for state in IN_ORDER if state in WAITING and state is not State.READY)
    done, doing = "ready", "promoting"
    chooses_states = True

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        broker.promote_now(valid_task_id(task_id))
        return None
