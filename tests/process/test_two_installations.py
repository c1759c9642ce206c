"""Two installations on one Redis: each prefix is a world of its own, and what cannot be kept apart is told plainly."""

import pytest

from queue_app import arguments
from queue_app.brokers.redis import RedisBroker, connect
from queue_app.brokers.redis.inspection import inspect
from queue_app.core import ids
from queue_app.core.answers import Enqueue
from queue_app.core.states import State
from queue_app.core.task import SCHEMA, Task
from queue_app.testing.conservation import assert_conserved
from tests.process.rig import Rig, until

pytestmark = pytest.mark.slow


def test_two_projects_with_a_prefix_each_run_their_own_tasks_only(rig: Rig) -> None:
    connection = connect(rig.engine.url)
    brokers = {prefix: RedisBroker(connection, prefix=prefix) for prefix in ("shop:", "blog:")}
    workers = {prefix: rig.workers.start(PROCESS_PREFIX=prefix) for prefix in brokers}
    brokers["shop:"].pause("mail")

    owners = {}
    for prefix, broker in brokers.items():
        for _ in range(20):
            task = Task(id=ids.new_id(), task_type="tests.process.tasks.work", payload=arguments.encode((), {}, 1000))
            broker.enqueue_many([Enqueue(task=task)])
            owners[task.id] = str(workers[prefix].pid)
    rig.wait_for_end(owners, 20)

    ran = {entry.task_id: entry.worker.split("-")[-2] for entry in rig.ledger.entries("start")}
    assert ran == owners
    assert not brokers["blog:"].stats("mail").paused
    assert [len(broker.workers()) for broker in brokers.values()] == [1, 1]
    assert rig.workers.stop() == [0, 0]
    for prefix, broker in brokers.items():
        assert_conserved(broker)
        assert inspect(connection, prefix) == []


def test_a_task_of_another_project_without_a_prefix_dies_and_says_why(rig: Rig) -> None:
    worker = rig.workers.start()
    (task_id,) = rig.enqueue_many([("work", (), 0.0, {"task_type": "blog.tasks.publish", "max_retries": -1})])

    worker.wait_for(f"task died task={task_id} type=blog.tasks.publish")

    until(lambda: rig.broker.get(task_id).state is State.DEAD, "it died")
    snapshot = rig.broker.get(task_id)
    assert "enqueued by another project that uses the same store" in snapshot.task.last_error.message
    rig.check_liveness()


def test_a_task_of_a_newer_version_waits_uncounted_while_the_others_run(rig: Rig) -> None:
    worker = rig.workers.start()
    (task_id,) = rig.enqueue_many([("work", (), 0.0, {"schema": SCHEMA + 1})])

    worker.wait_for(f"task is too new for this worker task={task_id}")
    rig.check_liveness()

    until(lambda: rig.broker.get(task_id).state is State.SCHEDULED, "it waits")
    assert b'"attempts":0' in rig.broker.get(task_id).body
    assert rig.workers.stop() == [0]
    assert inspect(connect(rig.engine.url)) == []
