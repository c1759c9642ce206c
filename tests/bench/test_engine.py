"""The benchmark's own server: emptied before each run, and listened to without counting what scripts do."""

import pytest

from bench import engine
from bench.engine import Engine, client_command
from bench.errors import BenchError


def test_only_clients_commands_are_counted() -> None:
    assert client_command('1700000000.123456 [0 127.0.0.1:50000] "EVALSHA" "abc" "1"') == ["evalsha"]
    assert client_command('1700000000.123456 [0 lua] "LPUSH" "list" "x"') == []
    assert client_command("OK") == []


def test_everybody_gets_the_append_only_file_each_second(server: Engine) -> None:
    assert server.persistence == "appendonly yes, appendfsync everysec"


def test_a_reset_leaves_nothing(server: Engine) -> None:
    server.client.set("key", "value")

    server.reset()

    assert server.client.dbsize() == 0
    assert server.script_seconds() == 0.0


def test_time_in_scripts_is_told(server: Engine) -> None:
    server.reset()

    server.client.eval("for i = 1, 1000 do redis.call('INCR', KEYS[1]) end", 1, "counter")

    assert 0 < server.script_seconds() < 1


def test_listening_hears_a_command_but_not_those_of_its_script(server: Engine) -> None:
    timer = engine.redis.Redis.from_url(server.url)
    calls_in_background(timer)

    calls = server.calls_during(1.0)

    timer.close()
    assert calls["eval"] == 1
    assert "incr" not in calls


def calls_in_background(client: engine.redis.Redis) -> None:
    """One script, a little later."""
    import threading

    threading.Timer(0.3, lambda: client.eval("redis.call('INCR', KEYS[1])", 1, "counter")).start()


def test_somebodys_data_is_not_emptied(server: Engine) -> None:
    server.reset()
    server.client.set("key", "value")

    with pytest.raises(BenchError, match="holds 1 keys"):
        engine.attached(server.url)

    assert server.client.get("key") == "value"
    server.reset()


def test_a_given_server_is_emptied_by_database_and_seen_from_its_pid(server: Engine) -> None:
    server.reset()

    given = engine.attached(server.url)
    given.client.set("key", "value")
    given.reset()

    assert given.pid == server.pid
    assert server.client.dbsize() == 0
    given.client.close()


def test_a_missing_binary_is_one_line(tmp_path: object) -> None:
    with pytest.raises(BenchError, match="no-such-server was not found"), engine.started("no-such-server", tmp_path):  # type: ignore[arg-type]
        pass
