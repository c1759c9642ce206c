"""`manage.py forgequeue`, as a person types it."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from queue_app.brokers.redis import RedisBroker, connect
from queue_app.core.answers import WorkerRecord
from queue_app.core.ids import new_id
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.management.verbs import VERBS
from queue_app.management.verbs.showing import table
from queue_app.runtime import override
from tests.client import samples  # noqa: F401 - brings tasks that are known here
from tests.commands.shell import fails, forgequeue, kill, put


class TestStatus:
    def test_shows_every_queue_and_worker(self, broker):
        put(broker, 3)
        put(broker, 1, queue="mail")
        broker.pause("mail")
        broker.announce(
            WorkerRecord(name="w1", host="h", pid=1, version="1", queues=("mail",), concurrency=4, started_at=0.0)
        )

        lines = forgequeue("status").splitlines()

        assert lines[0].split() == ["QUEUE", *(state.value.upper() for state in State), "PAUSED"]
        assert lines[1].split()[0] == "mail"
        assert lines[1].split()[-1] == "yes"
        assert lines[2].split()[0] == "tasks"
        assert lines[2].split()[-1] == "no"
        assert "w1" in lines[-1]

    def test_of_an_empty_store_says_so(self, broker):
        assert "no queue has been used yet" in forgequeue("status")

    def test_as_json_is_one_document(self, broker):
        put(broker, 2)

        document = json.loads(forgequeue("status", "--json"))

        assert document["queues"][0]["counts"]["ready"] == 2
        assert document["workers"] == []


class TestEnqueue:
    def test_prints_the_id_and_stores_the_arguments(self, broker):
        task_id = forgequeue("enqueue", "no.such.type", "--args", '["a", 1]', "--queue", "mail").split()[0]

        assert broker.get(task_id).queue == "mail"

    def test_says_when_nothing_here_handles_the_type(self, broker):
        assert "nothing in this project handles no.such.type" in forgequeue("enqueue", "no.such.type")

    def test_takes_a_raw_payload(self, broker):
        task_id = forgequeue("enqueue", "raw", "--payload", "héllo").split()[0]

        assert broker.get(task_id).task.payload == "héllo".encode()

    def test_delays_and_prioritises(self, broker):
        task_id = forgequeue("enqueue", "raw", "--delay", "60", "--priority", "7").split()[0]

        assert broker.get(task_id).state is State.SCHEDULED
        assert broker.get(task_id).task.priority == 7

    def test_many(self, broker):
        assert "enqueued 5 tasks" in forgequeue("enqueue", "raw", "--count", "5")
        assert broker.stats("tasks").counts[State.READY] == 5

    def test_a_repeat_under_a_key_says_that_nothing_was_created(self, broker):
        first = forgequeue("enqueue", "raw", "--idempotency-key", "k").split()[0]

        again = forgequeue("enqueue", "raw", "--idempotency-key", "k")

        assert again.startswith(first)
        assert "nothing was created" in again

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (["--args", "{"], "--args is no JSON"),
            (["--args", "3"], "--args takes a JSON list"),
            (["--count", "0"], "--count takes 1 or more"),
            (["--priority", "101"], "priority=101"),
            (["--delay", "nan"], "delay"),
            (["--queue", "a b"], "queue name 'a b'"),
        ],
    )
    def test_what_cannot_be_is_said_in_one_line_and_stores_nothing(self, broker, words, part):
        code, message = fails("enqueue", "raw", *words)

        assert code == 2
        assert part in message
        assert "\n" not in message
        assert broker.queues() == []

    def test_arguments_that_the_task_does_not_take_are_said_and_store_nothing(self, broker):
        code, message = fails("enqueue", "tests.client.samples.add", "--args", "[1, 2, 3]")

        assert code == 2
        assert message == "tests.client.samples.add takes other arguments: add() too many positional arguments"
        assert broker.queues() == []

    def test_the_options_of_a_task_hold_where_it_is_known(self, broker):
        task_id = forgequeue("enqueue", "tests.client.samples.send", "--args", '{"user_id": 1}').strip()

        assert broker.get(task_id).queue == "mail"
        assert broker.get(task_id).task.priority == 7

    def test_thousands_are_enqueued_in_slices(self, broker):
        forgequeue("enqueue", "raw", "--count", "2500")

        assert broker.stats("tasks").counts[State.READY] == 2500


class TestPauseAndResume:
    def test_one_queue(self, broker):
        put(broker)

        forgequeue("pause", "tasks")
        assert broker.stats("tasks").paused

        forgequeue("resume", "tasks")
        assert not broker.stats("tasks").paused

    def test_all(self, broker):
        put(broker)

        forgequeue("pause", "--all")
        assert broker.stats("tasks").paused_by_all

        forgequeue("resume", "--all")
        assert not broker.stats("tasks").paused_by_all

    def test_resuming_all_says_what_is_still_paused_by_name(self, broker):
        put(broker)
        broker.pause("tasks")

        assert "still paused: tasks" in forgequeue("resume", "--all")

    def test_a_queue_that_never_was_is_refused(self, broker):
        put(broker)

        code, message = fails("pause", "tsaks")

        assert code == 1
        assert "there are: tasks" in message
        assert broker.queues() == ["tasks"]

    def test_neither_queue_nor_all_is_wrong_usage(self, broker):
        with pytest.raises(CommandError):
            forgequeue("pause")


class TestPurge:
    def test_drops_the_ready_ones_and_says_how_many(self, broker):
        put(broker, 3)

        assert "dropped 3 tasks" in forgequeue("purge", "tasks", "--yes")
        assert broker.stats("tasks").counts[State.READY] == 0

    def test_includes_what_it_is_told(self, broker):
        put(broker, 2)
        broker.enqueue(Task(id=new_id(), task_type="x"), delay_seconds=60)

        assert "dropped 3 tasks" in forgequeue("purge", "tasks", "--include", "scheduled,retrying", "--yes")

    def test_counts_first_and_does_nothing_without_a_yes(self, broker):
        put(broker, 3)

        code, message = fails("purge", "tasks")

        assert code == 2
        assert "Drop 3 ready from tasks?" in message
        assert broker.stats("tasks").counts[State.READY] == 3

    @pytest.mark.parametrize(
        ("words", "code"), [(["", "--yes"], 2), (["nope", "--yes"], 1), (["tasks", "--include", "dead", "--yes"], 2)]
    )
    def test_no_such_queue_or_state_drops_nothing(self, broker, words, code):
        put(broker, 3)

        assert fails("purge", *words)[0] == code
        assert broker.stats("tasks").counts[State.READY] == 3


class TestCancel:
    def test_each_id_gets_its_answer_and_the_code_says_whether_all_went(self, broker):
        (task_id,) = put(broker)
        out = StringIO()

        with pytest.raises(CommandError) as failure:
            call_command("forgequeue", "cancel", task_id, "nonesuch", stdout=out)

        assert failure.value.returncode == 1
        assert f"{task_id}: cancelled" in out.getvalue()
        assert "nonesuch: The store does not know this task" in out.getvalue()
        assert broker.get(task_id).state is State.CANCELLED

    def test_a_running_one_is_asked_for(self, broker):
        (task_id,) = put(broker)
        broker.claim("tasks", holder="w")

        assert "runs; its worker is told" in forgequeue("cancel", task_id)


class TestDead:
    def test_lists_them_with_their_last_error_on_one_line(self, broker):
        (task_id,) = kill(broker)

        lines = forgequeue("dead", "list").splitlines()

        assert lines[0].split() == ["ID", "QUEUE", "STATE", "TYPE", "ATTEMPTS", "AT", "ERROR"]
        assert lines[1].split()[:5] == [task_id, "tasks", "dead", "send_email", "1"]
        assert lines[1].endswith("SMTPTimeout: no answer")

    def test_as_json(self, broker):
        (task_id,) = kill(broker)

        (dead,) = json.loads(forgequeue("dead", "list", "--json"))["tasks"]

        assert dead["id"] == task_id
        assert dead["task"]["errors"][0]["type"] == "SMTPTimeout"

    def test_one_that_cannot_be_decoded_is_listed_and_can_be_retried(self, broker):
        (task_id,) = put(broker)
        (claimed,) = broker.claim("tasks", holder="w")
        broker.dead_letter(claimed.lease, b"\xff")

        assert "cannot be decoded" in forgequeue("dead", "list")
        assert f"{task_id}: ready" in forgequeue("dead", "retry", task_id)

    def test_retry_puts_it_back_with_all_its_attempts(self, broker):
        (task_id,) = kill(broker)

        forgequeue("dead", "retry", task_id)

        assert broker.get(task_id).state is State.READY
        assert broker.get(task_id).task.attempts == 0

    def test_retry_all_takes_every_page(self, broker):
        kill(broker, 600)

        forgequeue("dead", "retry", "--all")

        assert broker.stats("tasks").counts[State.DEAD] == 0
        assert broker.stats("tasks").counts[State.READY] == 600

    def test_retry_of_one_that_is_not_dead_is_refused(self, broker):
        (task_id,) = put(broker)

        code, message = fails("dead", "retry", task_id)

        assert code == 1
        assert message == "1 of 1 refused"
        assert broker.get(task_id).state is State.READY

    @pytest.mark.parametrize("words", [[], ["x", "--all"], ["x", "--queue", "tasks"]])
    def test_ids_or_all_but_not_both(self, broker, words):
        assert fails("dead", "retry", *words)[0] == 2


def test_an_unreachable_store_is_one_line_and_code_3(tmp_path):
    with override(RedisBroker(connect(f"unix://{tmp_path}/none.sock"))):
        code, message = fails("status")

    assert code == 3
    assert message.startswith("the store cannot be reached")
    assert "\n" not in message


def test_every_verb_explains_itself(capsys):
    def help_of(*words):
        with pytest.raises(SystemExit):
            call_command("forgequeue", *words, "--help")
        return capsys.readouterr().out

    for verb in VERBS:
        assert verb.help in help_of()
        assert verb.help.lower() in help_of(verb.name).lower()
        for sub in verb.verbs:
            assert sub.help.lower() in help_of(verb.name, sub.name).lower()
    assert "Exit codes" in help_of()


def test_numbers_stand_on_the_right():
    assert table(("A", "N"), [("x", 5), ("yy", 10)]) == "A    N\nx    5\nyy  10"
