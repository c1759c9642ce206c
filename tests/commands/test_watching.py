"""watch, inspect-keys and takeover, and what every verb says to programs."""

import json
import time
from io import StringIO

import pytest
from django.core.management import call_command

from queue_app.brokers.redis import RedisBroker, connect, embedded
from queue_app.brokers.redis.keys import Keys
from queue_app.core.errors import StoreUnavailable
from queue_app.core.states import State
from queue_app.runtime import override
from tests.commands.shell import fails, forgequeue, kill, put


@pytest.fixture
def server(tmp_path, embedded_binary):
    engine = embedded.start(tmp_path / "engine")
    yield connect(engine.url)
    engine.stop()


@pytest.fixture
def redis_broker(server):
    with override(RedisBroker(server)) as broker:
        yield broker


class TestWatch:
    def test_shows_queues_rates_workers_and_deaths(self, broker):
        put(broker, 3)
        kill(broker, 1)

        shown = forgequeue("watch", "--count", "1")

        assert "IN/S" in shown
        assert "no worker is running" in shown
        assert "SMTPTimeout" in shown
        assert "\x1b" not in shown

    def test_as_json_is_a_line_for_each_look_with_rates(self, broker, monkeypatch):
        put(broker, 1)
        monkeypatch.setattr(time, "sleep", lambda seconds: put(broker, 10))

        lines = [json.loads(line) for line in forgequeue("watch", "--count", "2", "--json").splitlines()]

        assert [line["queues"][0]["counts"]["ready"] for line in lines] == [1, 11]
        assert lines[0]["queues"][0]["in_per_second"] == 0.0
        assert lines[1]["queues"][0]["in_per_second"] > 0.0

    def test_a_store_that_goes_away_is_told_and_waited_for(self, broker, monkeypatch):
        put(broker)
        real, calls = broker.queues, []

        def queues():
            calls.append(1)
            if len(calls) == 2:
                raise StoreUnavailable("connection refused")
            return real()

        monkeypatch.setattr(broker, "queues", queues)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)

        lines = [json.loads(line) for line in forgequeue("watch", "--count", "3", "--json").splitlines()]

        assert ["error" in line for line in lines] == [False, True, False]

    def test_ctrl_c_is_its_good_end(self, broker, monkeypatch):
        def interrupted(seconds):
            raise KeyboardInterrupt

        monkeypatch.setattr(time, "sleep", interrupted)

        assert "no queue is used yet" in forgequeue("watch")

    @pytest.mark.parametrize("words", [["--interval", "0"], ["--count", "0"], ["--interval", "nan"]])
    def test_what_cannot_be_is_refused(self, broker, words):
        assert fails("watch", *words)[0] == 2


class TestInspectKeys:
    def test_all_is_well(self, redis_broker):
        put(redis_broker, 3)

        assert forgequeue("inspect-keys") == "every key is where it should be\n"
        assert json.loads(forgequeue("inspect-keys", "--json")) == {"disagreements": []}

    def test_prints_every_disagreement_and_ends_with_1(self, redis_broker, server):
        (task_id,) = put(redis_broker)
        server.command("DEL", f"task:{task_id}")
        server.command("SET", "queue:tasks:leases", "foreign")
        out = StringIO()

        with pytest.raises(Exception, match="2 disagreements"):
            call_command("forgequeue", "inspect-keys", stdout=out)

        lines = out.getvalue().splitlines()
        assert lines[0] == f"{task_id}: in immediate of tasks without the body task:{task_id}"
        assert lines[1].startswith("queue:tasks:leases: is of another type")

    def test_what_only_moved_between_two_walks_is_not_told(self, redis_broker, monkeypatch):
        walks = iter([["moves", "stays"], ["stays", "is new"]])
        monkeypatch.setattr(redis_broker, "disagreements", lambda: next(walks))

        code, message = fails("inspect-keys")

        assert (code, message) == (1, "1 disagreement")

    @pytest.mark.parametrize("prefix", ["", "shop:", "a*["])
    def test_others_on_the_same_server_are_not_ours(self, server, prefix):
        for key in ("session:1", "queues_of_theirs", "celery", "other:task:1"):
            server.command("SET", key, "theirs")
        with override(RedisBroker(server, prefix=prefix)) as broker:
            put(broker, 2)
            server.command("SET", f"{prefix}task:stray", "{}")

            (line,) = broker.disagreements()

        assert line == f"{prefix}task:stray: no queue owns this key"

    def test_a_store_without_keys_says_so(self, broker):
        code, message = fails("inspect-keys")

        assert (code, message) == (2, "MemoryBroker keeps no keys: this is for Redis")


class TestTakeover:
    def test_moves_a_whole_foreign_list(self, redis_broker, server):
        put(redis_broker)
        for number in range(250):
            body = json.dumps({"id": f"go-{number}", "task_type": "x", "attempts": 3, "max_retries": 3})
            server.command("RPUSH", Keys().structure("tasks", "dead"), body)

        told = json.loads(forgequeue("takeover", "--json"))

        assert told == {"taken_over": {"tasks": 250}}
        assert redis_broker.stats("tasks").counts[State.DEAD] == 250
        assert forgequeue("takeover", "--queue", "tasks") == "took over 0 dead tasks\n"

    def test_a_store_without_keys_says_so(self, broker):
        assert fails("takeover")[0] == 2


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["enqueue", "raw"], {"id", "created", "count", "handled_here"}),
        (["pause", "tasks"], {"queue", "paused"}),
        (["resume", "--all"], {"queue", "paused", "still_paused"}),
        (["purge", "tasks", "--yes"], {"queue", "dropped"}),
        (["retry", "--all"], {"matched", "done", "requested", "refused"}),
        (["dead", "purge", "tasks", "--yes"], {"matched", "done", "requested", "refused"}),
        (["dead", "list"], {"tasks", "cursor", "complete"}),
        (["status"], {"queues", "workers"}),
    ],
)
def test_every_verb_speaks_json(broker, words, keys):
    put(broker)

    assert set(json.loads(forgequeue(*words, "--json"))) == keys
