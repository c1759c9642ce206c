"""Acting on tasks: by id, or on all in some states."""

import io
import json
import sys

import pytest

from queue_app.core.ids import new_id
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.management.verbs import acting
from queue_app.management.verbs.progress import Progress
from tests.commands.shell import fails, forgequeue, kill, put


def counts(broker, queue="tasks"):
    return {state.value: count for state, count in broker.stats(queue).counts.items() if count}


class TestById:
    def test_delete_needs_a_yes_and_counts_first(self, broker):
        ids = put(broker, 2)

        code, message = fails("delete", *ids)

        assert (code, message) == (2, "Delete 2 tasks? Say --yes to do it.")
        assert counts(broker) == {"ready": 2}
        assert forgequeue("delete", *ids, "--yes") == "".join(f"{each}: deleted\n" for each in ids)
        assert counts(broker) == {}

    def test_retry_takes_dead_and_cancelled_ones(self, broker):
        (dead,), (cancelled,) = kill(broker), put(broker)
        broker.cancel(cancelled)

        forgequeue("retry", dead, cancelled)

        assert counts(broker) == {"ready": 2}

    def test_promote_brings_a_task_forward(self, broker):
        task = Task(id=new_id(), task_type="x")
        broker.enqueue(task, delay_seconds=3600)

        assert forgequeue("promote", task.id) == f"{task.id}: ready\n"
        assert broker.get(task.id).state is State.READY
        assert fails("promote", task.id)[0] == 1

    def test_as_json_each_has_its_outcome(self, broker):
        waits, runs = put(broker, 2)
        broker.claim("tasks", holder="w", limit=1)
        runs, waits = waits, runs

        told = json.loads(forgequeue("cancel", waits, runs, "--json"))

        assert told == {
            "matched": 2,
            "done": 1,
            "requested": 1,
            "refused": 0,
            "tasks": [{"id": waits, "outcome": "cancelled"}, {"id": runs, "outcome": "requested"}],
        }

    def test_dead_delete_leaves_others_alone(self, broker):
        (waits,) = put(broker)

        assert fails("dead", "delete", waits, "--yes")[0] == 1
        assert counts(broker) == {"ready": 1}

    @pytest.mark.parametrize("verb", ["cancel", "retry", "delete", "promote"])
    @pytest.mark.parametrize("words", [[], ["x", "--all"], ["x", "--queue", "tasks"], ["x", "--state", "ready"]])
    def test_ids_or_all(self, broker, verb, words):
        assert fails(verb, *words)[0] == 2

    @pytest.mark.parametrize("verb", ["cancel", "retry", "delete --yes", "promote"])
    def test_an_id_that_is_none_is_wrong_usage(self, broker, verb):
        assert fails(*verb.split(), "no such id")[0] == 2


class TestAll:
    def test_delete_of_some_states_of_a_queue(self, broker):
        put(broker, 2)
        kill(broker, 2)
        put(broker, 3, queue="mail")

        code, question = fails("delete", "--all", "--queue", "tasks", "--state", "dead")
        said = forgequeue("delete", "--all", "--queue", "tasks", "--state", "dead", "--yes")

        assert (code, question) == (2, "Delete 2 tasks (dead) of tasks? Say --yes to do it.")
        assert said == "2 tasks deleted\n"
        assert counts(broker) == {"ready": 2}
        assert counts(broker, "mail") == {"ready": 3}

    def test_more_than_a_page_of_which_some_stay(self, broker, monkeypatch):
        monkeypatch.setattr(acting, "PAGE", 10)
        put(broker, 25)
        broker.claim("tasks", holder="w", limit=15)

        said = json.loads(forgequeue("delete", "--all", "--yes", "--json"))

        assert said == {"matched": 25, "done": 10, "requested": 15, "refused": 0}
        assert counts(broker) == {"running": 15}

    def test_tasks_that_come_in_meanwhile_do_not_keep_it_going(self, broker, monkeypatch):
        kill(broker, 3)
        real = broker.delete

        def delete(task_id):
            kill(broker)
            return real(task_id)

        monkeypatch.setattr(broker, "delete", delete)

        assert forgequeue("dead", "purge", "tasks", "--yes") == "3 tasks deleted\n"
        assert counts(broker) == {"dead": 3}

    def test_cancel_of_all_asks_first(self, broker):
        put(broker, 2)

        assert fails("cancel", "--all")[0] == 2
        assert forgequeue("cancel", "--all", "--state", "ready", "--yes") == "2 tasks cancelled\n"
        assert counts(broker) == {"cancelled": 2}

    def test_promote_of_all(self, broker):
        for _ in range(3):
            broker.enqueue(Task(id=new_id(), task_type="x"), delay_seconds=60)

        assert forgequeue("promote", "--all") == "3 tasks ready\n"
        assert counts(broker) == {"ready": 3}

    def test_of_nothing_says_so(self, broker):
        put(broker)

        assert forgequeue("dead", "purge", "tasks") == "no dead tasks\n"
        assert forgequeue("retry", "--all") == "no dead or cancelled tasks\n"

    def test_a_state_that_the_verb_does_not_take_is_refused(self, broker):
        put(broker)

        code, message = fails("promote", "--all", "--state", "dead")

        assert (code, message) == (2, "--state takes scheduled, retrying, not 'dead'")

    def test_an_interruption_says_how_far_it_came_and_leaves_the_rest(self, broker, monkeypatch):
        put(broker, 5)
        real, calls = broker.cancel, []

        def cancel(task_id):
            calls.append(task_id)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return real(task_id)

        monkeypatch.setattr(broker, "cancel", cancel)

        code, message = fails("cancel", "--all", "--yes")

        assert (code, message) == (130, "interrupted: 2 tasks of 5 cancelled, the others are as they were")
        assert counts(broker) == {"ready": 3, "cancelled": 2}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestProgress:
    def test_a_terminal_sees_a_bar_that_is_wiped_away(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Terminal())

        with Progress(4, "deleting") as progress:
            progress.step(2)

        drawn = sys.stderr.getvalue()
        assert drawn == f"\rdeleting [{'#' * 15}{'.' * 15}] 2 of 4\x1b[K\r\x1b[K"

    def test_a_file_sees_nothing(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())

        with Progress(4, "deleting") as progress:
            progress.step(2)

        assert sys.stderr.getvalue() == ""
