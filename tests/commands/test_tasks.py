"""Looking at tasks and queues."""

import json

import pytest

from queue_app import arguments
from queue_app.core.ids import new_id
from queue_app.core.states import State
from queue_app.core.task import Task
from tests.commands.shell import fails, forgequeue, kill, put


class TestTasksList:
    def test_shows_tasks_of_all_queues_and_states(self, broker):
        (waits,) = put(broker, queue="mail", task_type="mail.send")
        (dead,) = kill(broker)

        lines = forgequeue("tasks", "list").splitlines()

        assert lines[0].split() == ["ID", "QUEUE", "STATE", "TYPE", "ATTEMPTS", "AT", "ERROR"]
        assert [line.split()[:4] for line in lines[1:]] == [
            [waits, "mail", "ready", "mail.send"],
            [dead, "tasks", "dead", "send_email"],
        ]

    def test_of_a_queue_a_state_and_a_type(self, broker):
        put(broker, 2, queue="mail")
        (wanted,) = put(broker, queue="mail", task_type="mail.send")
        put(broker, queue="tasks", task_type="mail.send")

        found = json.loads(forgequeue("tasks", "list", "--queue", "mail", "--type", "mail.send", "--json"))

        assert [each["id"] for each in found["tasks"]] == [wanted]
        assert forgequeue("tasks", "list", "--state", "dead,retrying") == "no retrying or dead tasks\n"

    def test_ends_at_the_limit_and_says_where_to_go_on(self, broker):
        ids = put(broker, 5)
        words = ("tasks", "list", "--queue", "tasks", "--state", "ready", "--limit", "3", "--json")

        first = json.loads(forgequeue(*words))
        second = json.loads(forgequeue(*words, "--cursor", first["cursor"]))

        assert [each["id"] for page in (first, second) for each in page["tasks"]] == ids
        assert (first["complete"], second["complete"], second["cursor"]) == (False, True, None)

    def test_of_several_states_says_that_there_are_more(self, broker):
        put(broker, 2)
        kill(broker, 2)

        assert "there are more: choose a queue and a state" in forgequeue("tasks", "list", "--limit", "2")
        assert "there are more" not in forgequeue("tasks", "list", "--limit", "4")

    def test_more_than_a_page(self, broker):
        put(broker, 1200)

        assert len(json.loads(forgequeue("tasks", "list", "--limit", "1200", "--json"))["tasks"]) == 1200

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["--limit", "0"], 2),
            (["--state", "lost"], 2),
            (["--state", ","], 2),
            (["--queue", "nope"], 1),
            (["--cursor", "5"], 2),
            (["--cursor", "5", "--queue", "tasks", "--state", "ready,dead"], 2),
        ],
    )
    def test_what_cannot_be_is_refused(self, broker, words, code):
        put(broker)

        assert fails("tasks", "list", *words)[0] == code

    def test_what_a_task_carries_cannot_move_the_cursor(self, broker):
        (task_id,) = put(broker, payload=b"\x1b[2J", task_type="x\x1b[31m")

        shown = forgequeue("tasks", "show", task_id) + forgequeue("tasks", "list")

        assert "\x1b" not in shown
        assert "\\x1b[2J" in shown


class TestTasksShow:
    def test_tells_a_person_everything(self, broker):
        task = Task(
            id=new_id(),
            task_type="mail.send",
            payload=arguments.encode((42,), {"urgent": True}, 1000),
            max_retries=2,
            priority=7,
            tags=("a", "b"),
            timeout=5.0,
        )
        broker.enqueue(task, delay_seconds=60)

        lines = dict(line.split(None, 1) for line in forgequeue("tasks", "show", task.id).splitlines())

        assert lines["state"] == "scheduled"
        assert lines["arguments"] == "42, urgent=True"
        assert lines["attempts"] == "0 of 3"
        assert (lines["priority"], lines["tags"], lines["timeout"]) == ("7", "a, b", "5 s")
        assert lines["due"].endswith("Z")

    def test_tells_of_every_error_with_the_last_traceback(self, broker):
        (task_id,) = kill(broker)

        shown = forgequeue("tasks", "show", task_id)

        assert "attempt 1 at 1970-01-01 00:00:00Z" in shown
        assert "  SMTPTimeout: no\\nanswer" in shown

    def test_as_json_has_the_body_as_it_is_stored(self, broker):
        (task_id,) = put(broker, payload=b"\x00\xff")

        told = json.loads(forgequeue("tasks", "show", task_id, "--json"))

        assert (told["id"], told["queue"], told["state"]) == (task_id, "tasks", "ready")
        assert told["task"]["payload"] == "AP8="

    def test_shows_a_result(self, broker):
        (task_id,) = put(broker)
        (claimed,) = broker.claim("tasks", holder="w")
        broker.ack(claimed.lease, result=arguments.encode_result({"sum": 3}, 1000), keep_seconds=60, body=claimed.body)

        assert "{'sum': 3}" in forgequeue("tasks", "show", task_id)
        assert json.loads(forgequeue("tasks", "show", task_id, "--json"))["result"] == "{'sum': 3}"

    def test_one_that_cannot_be_decoded_is_shown_as_it_is(self, broker):
        (task_id,) = put(broker)
        (claimed,) = broker.claim("tasks", holder="w")
        broker.dead_letter(claimed.lease, b"\xff{")

        shown = forgequeue("tasks", "show", task_id)

        assert "problem" in shown
        assert r"b'\xff{'" in shown

    def test_one_that_is_not_there_is_refused(self, broker):
        assert fails("tasks", "show", "nonesuch")[0] == 1
        assert fails("tasks", "show", "no such id")[0] == 2

    def test_dead_show_is_for_dead_ones(self, broker):
        (dead,), (waits,) = kill(broker), put(broker)

        assert "SMTPTimeout" in forgequeue("dead", "show", dead)
        assert fails("dead", "show", waits)[0] == 1


class TestQueues:
    def test_shows_all_in_numbers(self, broker):
        put(broker, 3)
        put(broker, 1, queue="mail")

        lines = forgequeue("queues").splitlines()

        assert [line.split()[:3] for line in lines[1:]] == [["mail", "0", "1"], ["tasks", "0", "3"]]
        assert [each["queue"] for each in json.loads(forgequeue("queues", "--json"))["queues"]] == ["mail", "tasks"]

    def test_shows_one_with_what_happened_in_it(self, broker):
        (dead,) = kill(broker)

        shown = forgequeue("queues", "tasks")

        assert ["dead", "1"] in [line.split() for line in shown.splitlines()]
        assert json.loads(forgequeue("queues", "tasks", "--json"))["totals"]["dead"] == 1
        assert broker.get(dead).state is State.DEAD
        assert fails("queues", "nope")[0] == 1
