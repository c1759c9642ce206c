"""What stands in Redis, as the Go system and people with redis-cli know it."""

import json
import threading

import pytest

from queue_app.brokers.base import HOLDER_CLOSED_SECONDS
from queue_app.brokers.redis import RedisBroker, connect, embedded
from queue_app.brokers.redis.connection import IDLE_LINES
from queue_app.brokers.redis.inspection import inspect
from queue_app.brokers.redis.keys import Keys
from queue_app.core.answers import Asked, Enqueue
from queue_app.core.errors import ConfigurationError, StoreRefused, StoreUnavailable, TaskGone
from queue_app.core.ids import new_id
from queue_app.core.outcomes import Spent, Succeeded
from queue_app.core.states import State
from queue_app.core.task import Task
from queue_app.testing.broker_contract.workers import RECORD
from queue_app.testing.clock import FakeClock

NOW = 1_800_000_000.0


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
def connection(engine_url):
    connection = connect(engine_url)
    connection.command("FLUSHALL")
    yield connection
    connection.close()


@pytest.fixture
def broker(connection, clock):
    return RedisBroker(connection, clock=clock)


def task(**fields) -> Task:
    return Task(**{"id": new_id(), "task_type": "send_email", **fields})


def claim_one(broker, queue="tasks"):
    return broker.claim(queue, holder="w:1", limit=1)[0]


class TestWhatAnEnqueueLeaves:
    def test_a_ready_task_stands_in_the_documented_list_with_the_documented_body(self, broker, connection):
        mail = task(payload=b'{"to":"a@b.com"}', max_retries=3)

        broker.enqueue(mail)

        assert connection.command("LRANGE", "queue:tasks:immediate", 0, -1) == [mail.id.encode()]
        assert json.loads(connection.command("GET", f"task:{mail.id}")) == {
            "id": mail.id,
            "task_type": "send_email",
            "payload": "eyJ0byI6ImFAYi5jb20ifQ==",
            "max_retries": 3,
            "attempts": 0,
        }
        assert inspect(connection) == []

    def test_a_delayed_task_stands_in_the_documented_zset_by_its_due_time(self, broker, connection):
        later = task()

        broker.enqueue(later, delay_seconds=1.5)

        assert connection.command("ZSCORE", "queue:tasks:scheduled", later.id) == b"1800000001.5"

    def test_a_claim_leaves_the_lease_and_its_expiry_in_fractional_seconds(self, broker, connection):
        broker.enqueue(task(id="t1"))

        broker.claim("tasks", holder="w:1", token="tok", limit=1, lease_seconds=0.25)

        assert connection.command("HGETALL", "queue:tasks:leases") == [b"t1", b"tok"]
        assert connection.command("ZSCORE", "queue:tasks:inflight", "t1") == b"1800000000.25"

    def test_an_ack_leaves_nothing_of_the_task(self, broker, connection):
        broker.enqueue(task(id="t1"))

        broker.ack(claim_one(broker).lease)

        assert connection.command("KEYS", "*t1*") == []
        assert inspect(connection) == []


class TestBesideTheGoSystem:
    def test_what_its_producer_pushes_is_claimed(self, broker, connection):
        body = json.dumps({"id": "go-1", "task_type": "send_email", "payload": "e30=", "max_retries": 3})
        connection.command("SET", "task:go-1", body)
        connection.command("LPUSH", "queue:tasks:immediate", "go-1")

        claimed = claim_one(broker)

        assert (claimed.task.id, claimed.task.payload, claimed.task.max_attempts) == ("go-1", b"{}", 4)

    def test_what_it_delays_is_promoted_when_due(self, broker, connection, clock):
        connection.command("SET", "task:go-2", '{"id":"go-2","task_type":"x","payload":null,"max_retries":0}')
        connection.command("ZADD", "queue:tasks:scheduled", clock.now() + 5, "go-2")

        assert broker.promote("tasks").count == 0
        clock.advance(5)
        assert broker.promote("tasks").count == 1
        assert claim_one(broker).task.max_attempts is None

    def test_an_entry_without_a_body_is_dropped(self, broker, connection):
        connection.command("LPUSH", "queue:tasks:immediate", "no-body")

        assert broker.claim("tasks", holder="w:1", limit=1) == []
        assert broker.stats("tasks").counts[State.READY] == 0

    def test_its_pause_flag_is_ours(self, broker, connection):
        broker.enqueue(task())

        connection.command("SET", "queue:paused", "1")

        assert broker.claim("tasks", holder="w:1", limit=1) == []

    def test_its_dead_letters_are_taken_over_and_can_be_revived(self, broker, connection):
        broker.enqueue(task())
        for number in range(3):
            body = {"id": f"go-{number}", "task_type": "x", "payload": "", "max_retries": 2, "attempts": 3}
            connection.command("LPUSH", "queue:tasks:dead", json.dumps(body))

        moved = broker.sweep("tasks")

        assert moved.count == 3
        assert connection.command("LLEN", "queue:tasks:dead") == 0
        assert {each.id for each in broker.list_tasks("tasks", State.DEAD).snapshots} == {"go-0", "go-1", "go-2"}
        broker.revive("go-1")
        assert broker.get("go-1").task.attempts == 0
        assert inspect(connection) == []

    def test_an_unreadable_dead_letter_is_taken_over_with_its_bytes(self, broker, connection):
        broker.enqueue(task())
        connection.command("LPUSH", "queue:tasks:dead", b"\xff not json")

        broker.sweep("tasks")

        (dead,) = broker.list_tasks("tasks", State.DEAD).snapshots
        assert dead.body == b"\xff not json"
        assert dead.problem
        assert broker.delete(dead.id) is Asked.DONE
        assert inspect(connection) == []


class TestTombstones:
    def test_a_cancelled_ready_task_leaves_its_entry_but_is_not_counted_nor_run(self, broker, connection):
        broker.enqueue_many([Enqueue(task=task(id=f"t{number}")) for number in range(3)])

        broker.cancel("t1")

        assert connection.command("LLEN", "queue:tasks:immediate") == 3
        assert broker.stats("tasks").counts[State.READY] == 2
        assert [each.lease.task_id for each in broker.claim("tasks", holder="w:1", limit=5)] == ["t0", "t2"]
        assert inspect(connection) == []

    def test_cancel_revive_and_cancel_again_never_runs_it_twice(self, broker, connection):
        broker.enqueue_many([Enqueue(task=task(id=f"t{number}")) for number in range(3)])
        for _ in range(3):
            broker.cancel("t1")
            broker.revive("t1")

        claimed = [each.lease.task_id for each in broker.claim("tasks", holder="w:1", limit=10)]

        assert sorted(claimed) == ["t0", "t1", "t2"]
        assert inspect(connection) == []

    def test_a_deleted_task_that_comes_back_later_runs_once_and_at_its_time(self, broker, connection, clock):
        broker.enqueue_many([Enqueue(task=task(id=f"t{number}")) for number in range(2)])
        broker.delete("t0")
        broker.enqueue(task(id="t0"), delay_seconds=60)

        assert [each.lease.task_id for each in broker.claim("tasks", holder="w:1", limit=5)] == ["t1"]
        clock.advance(60)
        broker.promote("tasks")
        assert [each.lease.task_id for each in broker.claim("tasks", holder="w:2", limit=5)] == ["t0"]
        assert broker.claim("tasks", holder="w:3", limit=5) == []
        assert inspect(connection) == []

    def test_the_good_task_behind_20000_cancelled_ones_is_found_in_bounded_steps(self, broker, connection):
        broker.enqueue_many([Enqueue(task=task(id=f"t{number}")) for number in range(3_000)])
        for number in range(2_999):
            broker.cancel(f"t{number}")

        standings = []
        claimed = []
        while not claimed:
            answer = broker.exchange("tasks", holder="w:1", token=f"k{len(standings)}", want=1)
            standings.append(answer.standing.value)
            claimed = answer.claimed

        assert standings == ["more", "more", "claimed"]
        assert claimed[0].lease.task_id == "t2999"
        assert broker.stats("tasks").counts[State.READY] == 0


class TestAPurgeThatWasCutOff:
    @pytest.fixture
    def cut_off(self, broker, connection, clock):
        broker.enqueue_many([Enqueue(task=task(id=f"r{number}")) for number in range(5)])
        broker.enqueue_many([Enqueue(task=task(id=f"s{number}"), delay_seconds=9) for number in range(5)])
        broker._caller.run("purge", "tasks", f"{clock.now():.0f}-x", "ready", "scheduled")

    def test_the_sweeper_finishes_it(self, cut_off, broker, connection, clock):
        clock.advance(61)

        broker.sweep("tasks")

        assert broker.find("r1") is None
        assert connection.command("KEYS", "task:*") == []

    def test_one_that_began_by_a_clock_since_set_back_is_not_waited_for(self, cut_off, broker, connection, clock):
        clock.advance(-3600)
        broker.enqueue(task(id="new"))

        assert broker.cancel("new") is Asked.DONE
        assert connection.command("KEYS", "task:*") == []

    def test_what_needs_to_know_where_a_task_stands_finishes_it_first(self, cut_off, broker, connection):
        broker.enqueue(task(id="new"))

        assert broker.cancel("new") is Asked.DONE
        assert broker.find("r1") is None
        assert connection.command("KEYS", "task:*") == []


class TestRetryingAndScheduledPurgedApart:
    @pytest.fixture
    def waiting(self, broker):
        broker.enqueue(task(id="again"))
        claimed = claim_one(broker)
        broker.retry(claimed.lease, claimed.body, delay_seconds=5)
        broker.enqueue(task(id="later"), delay_seconds=5)
        broker.enqueue(task(id="now"))

    def test_scheduled_only(self, waiting, broker, connection):
        assert broker.purge("tasks", include=[State.SCHEDULED]) == 2

        assert broker.get("again").state is State.RETRYING
        assert broker.stats("tasks").counts[State.RETRYING] == 1
        assert broker.find("later") is None
        assert inspect(connection) == []

    def test_retrying_only(self, waiting, broker, connection):
        assert broker.purge("tasks", include=[State.RETRYING]) == 2

        assert broker.get("later").state is State.SCHEDULED
        assert broker.find("again") is None
        assert inspect(connection) == []


class TestScriptsAndLines:
    def test_a_flushed_script_cache_is_no_event(self, broker, connection):
        broker.enqueue(task())
        connection.command("SCRIPT", "FLUSH")

        assert claim_one(broker)

    def test_a_flushed_script_cache_inside_a_pipeline_is_no_event(self, broker, connection):
        broker.enqueue_many([Enqueue(task=task(queue=queue)) for queue in ("a", "b")])
        leases = [claim_one(broker, queue).lease for queue in ("a", "b")]
        connection.command("SCRIPT", "FLUSH")

        broker.exchange("c", holder="w:1", token="k", outcomes=[Succeeded(lease=lease) for lease in leases], want=1)

        assert [broker.stats(queue).counts[State.RUNNING] for queue in ("a", "b")] == [0, 0]

    def test_lines_that_the_server_closed_are_replaced_without_an_error(self, broker, connection):
        broker.enqueue(task())
        connection.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        killer = connect(f"unix://{connection._lines.connection_kwargs['path']}")
        killer.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

        assert claim_one(broker)
        killer.close()

    def test_a_server_that_is_not_there_is_said_so(self, tmp_path):
        broker = RedisBroker(connect(f"unix://{tmp_path}/none.sock"))

        with pytest.raises(StoreUnavailable, match="ConnectionError"):
            broker.stats("tasks")


@pytest.mark.parametrize("structure", ["immediate", "leases", "inflight", "scheduled", "totals", "holders", "recent"])
def test_a_key_of_another_type_is_named_and_other_queues_go_on(broker, connection, structure):
    broker.enqueue_many([Enqueue(task=task(queue=queue)) for queue in ("a", "b")])
    connection.command("DEL", f"queue:a:{structure}")
    if structure == "immediate":
        connection.command("SET", "queue:a:immediate", "foreign")
    else:
        connection.command("LPUSH" if structure != "recent" else "SET", f"queue:a:{structure}", "foreign")

    with pytest.raises(StoreRefused, match=rf"queue=a .*queue:a:{structure} is a \w+, not a \w+"):
        run_one_that_dies(broker, "a")

    assert claim_one(broker, "b")


@pytest.mark.parametrize(
    ("key", "call", "words"),
    [
        ("queues", lambda broker: broker.queues(), "SMEMBERS queues: WRONGTYPE"),
        ("queues", lambda broker: broker.enqueue(task()), "SADD queues: WRONGTYPE"),
        ("workers", lambda broker: broker.announce(RECORD), "announce workers workers:seen: WRONGTYPE"),
        ("workers", lambda broker: broker.retire("w1"), "HDEL workers: WRONGTYPE"),
        ("queue:a:recent", lambda broker: broker.recent("a"), "LRANGE queue:a:recent: WRONGTYPE"),
    ],
)
def test_a_key_of_another_type_is_named_by_every_call(broker, connection, key, call, words):
    connection.command("SADD" if key != "queues" else "LPUSH", key, "foreign")

    with pytest.raises(StoreRefused, match=f"^{words}"):
        call(broker)


@pytest.mark.parametrize("key", ["task:t1", "finished:t1", "result:t1"])
def test_a_body_of_another_type_is_no_body_and_stops_nobody(broker, connection, key):
    broker.enqueue_many([Enqueue(task=task(id=each)) for each in ("t1", "t2")])
    connection.command("DEL", key)
    connection.command("LPUSH", key, "foreign")

    claimed = broker.claim("tasks", holder="w:1", limit=5)

    assert claimed[-1].lease.task_id == "t2"


def test_names_that_were_closed_long_ago_are_swept(broker, connection, clock):
    broker.abandon("tasks", ["w:1", "w:2"])
    clock.advance(HOLDER_CLOSED_SECONDS + 1)

    broker.sweep("tasks")

    assert connection.command("EXISTS", Keys().structure("tasks", "closed")) == 0


def test_the_queues_of_a_worker_are_known_again_after_the_store_was_emptied(broker, connection):
    broker.announce(RECORD)
    connection.command("FLUSHALL")

    broker.announce(RECORD)

    assert broker.queues() == sorted(RECORD.queues)


def run_one_that_dies(broker, queue):
    broker.settle(Spent(lease=claim_one(broker, queue).lease, body=b"{}", note=b"x"))


def test_foreign_words_among_the_names_are_passed_over_and_told(broker, connection):
    broker.enqueue(task())
    connection.command("SADD", Keys().queues, b"\xff", "two words")
    for worker, record in ((b"\xff", b"\xff"), (b"w", b"{}"), (b"x", b'{"name":"\xff"}')):
        connection.command("HSET", Keys().workers, worker, record)
        connection.command("ZADD", f"{Keys().workers}:seen", NOW, worker)

    assert broker.queues() == ["tasks"]
    assert broker.workers() == []
    assert inspect(connection) == [
        "queues: has b'\\xff', which no queue can be called",
        "queues: has b'two words', which no queue can be called",
    ]


def test_two_installations_on_one_server_do_not_see_each_other(connection, clock):
    one, two = (RedisBroker(connection, prefix=prefix, clock=clock) for prefix in ("one:", "two:"))
    one.enqueue(task(id="t1"))

    assert two.queues() == []
    assert two.find("t1") is None
    assert two.claim("tasks", holder="w:1") == []
    assert one.get("t1").state is State.READY
    assert inspect(connection, "one:") == []


def test_in_a_cluster_all_keys_of_a_queue_wear_its_tag():
    keys = Keys(cluster=True)

    assert keys.structure("mail", "immediate") == "queue:{mail}:immediate"
    assert keys.task("mail", "t1") == "task:{mail}:t1"
    assert keys.paused_all("mail") == "queue:{mail}:paused_all"


def test_numbers_that_a_script_must_not_touch_come_back_as_they_went(broker, connection):
    extra = '"far":1152921504606846977123,"none":[]'
    connection.command("SET", "task:t1", f'{{"id":"t1","task_type":"x","max_retries":2,{extra}}}')
    connection.command("LPUSH", "queue:tasks:immediate", "t1")

    claimed = claim_one(broker)
    broker.release(claimed.lease)

    assert extra.encode() in broker.get("t1").body


class TestLines:
    """Connections come and go; what was lost once must not count for ever."""

    def test_hundreds_of_lost_lines_leave_a_client_that_works(self, tmp_path):
        engine = embedded.start(tmp_path / "engine")
        broker = RedisBroker(connect(engine.url))
        engine.stop()
        for _ in range(150):
            with pytest.raises(StoreUnavailable):
                broker.now()

        engine = embedded.start(tmp_path / "engine")

        assert broker.now()
        broker.close()
        engine.stop()

    def test_more_threads_than_lines_are_kept_are_all_served(self, broker, connection):
        together = threading.Barrier(200)
        receipts = []

        def enqueue():
            together.wait()
            receipts.append(broker.enqueue(task()).created)

        threads = [threading.Thread(target=enqueue) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert receipts == [True] * 200
        assert len(connection.command("CLIENT", "LIST").splitlines()) <= IDLE_LINES + 2

    def test_a_url_option_that_does_not_exist_is_refused_before_anything_is_sent(self):
        with pytest.raises(ConfigurationError, match="is no usable Redis URL"):
            connect("redis://127.0.0.1:1/0?no_such_option=x")

    def test_a_cluster_that_is_not_there_is_unavailable(self):
        with pytest.raises(StoreUnavailable):
            RedisBroker(connect("redis+cluster://127.0.0.1:1")).queues()


@pytest.mark.parametrize("name", [b"\xff", b"a b", b"a\nb", "é".encode()])
def test_a_foreign_id_that_ours_cannot_be_called_is_dead_with_its_body(broker, connection, name):
    broker.enqueue(task(id="good"))
    connection.command("SET", b"task:" + name, b'{"id":"x"}')
    connection.command("RPUSH", "queue:tasks:immediate", name)

    claimed = broker.claim("tasks", holder="w:1", limit=5)

    assert [each.lease.task_id for each in claimed] == ["good"]
    (dead,) = broker.list_tasks("tasks", State.DEAD).snapshots
    assert dead.id.startswith("unreadable-")
    assert dead.body == b'{"id":"x"}'
    assert broker.delete(dead.id) is Asked.DONE
    assert inspect(connection) == []


@pytest.mark.parametrize("name", [b"\xff", b"a b"])
def test_so_is_one_that_a_foreign_worker_held_when_it_died(broker, connection, name):
    connection.command("SET", b"task:" + name, b'{"id":"x","task_type":"x","max_retries":-1}')
    connection.command("ZADD", "queue:tasks:inflight", NOW - 1, name)
    connection.command("HSET", "queue:tasks:leases", name, b"\xfe")
    connection.command("ZADD", "queue:tasks:inflight", NOW - 1, b"\xff no body")

    moved = broker.reclaim("tasks", lambda claimed: Spent(lease=claimed.lease, body=claimed.body))

    assert moved.count == 2
    assert broker.claim("tasks", holder="w:1", limit=5) == []
    (dead,) = broker.list_tasks("tasks", State.DEAD).snapshots
    assert dead.body.startswith(b'{"id":"x"')
    assert connection.command("EXISTS", "queue:tasks:inflight", "queue:tasks:leases") == 0


class TestARecordAndItsBodyPart:
    """As a server that drops keys, or somebody with redis-cli, may part them."""

    def test_a_kept_body_without_its_record_leaves_no_tombstone_and_can_be_deleted(self, broker, connection):
        broker.enqueue(task(id="t1"))
        broker.cancel("t1")
        connection.command("DEL", "queue:tasks:cancelled", "queue:tasks:tombstones", "queue:tasks:immediate")

        with pytest.raises(TaskGone):
            broker.cancel("t1")

        assert connection.command("EXISTS", "queue:tasks:tombstones") == 0
        assert broker.delete("t1") is Asked.DONE
        assert broker.find("t1") is None
        assert broker.enqueue(task(id="t1")).created
        assert claim_one(broker).lease.task_id == "t1"

    def test_a_cancelled_task_whose_id_a_foreign_producer_used_again_is_revived_as_it_was(self, broker, connection):
        body = broker.enqueue(task(id="t1")) and broker.get("t1").body
        broker.cancel("t1")
        connection.command("SET", "task:t1", b'{"id":"t1","task_type":"another"}')

        broker.revive("t1")

        assert broker.get("t1").task.task_type == json.loads(body)["task_type"]

    def test_a_dead_task_without_its_body_is_gone(self, broker, connection):
        broker.enqueue(task(id="t1"))
        broker.settle(Spent(lease=claim_one(broker).lease, body=b'{"id":"t1","task_type":"x"}'))
        connection.command("RENAME", "task:t1", "finished:t1")
        connection.command("ZADD", "queue:tasks:cancelled", NOW, "t1")

        with pytest.raises(TaskGone):
            broker.revive("t1")


def test_a_count_that_is_no_number_is_told_and_not_stumbled_over(broker, connection):
    broker.enqueue(task())
    connection.command("HSET", "queue:tasks:tombstones", "x", "many", "*", "1")

    assert inspect(connection) == ["tombstones of tasks say 1 in all and 0 one by one"]
