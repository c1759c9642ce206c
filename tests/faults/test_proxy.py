"""The proxy does what it says, to the request it is told, and to no other."""

import threading
import time

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.faults.proxy import Delayed, Fault, Proxy, words_of


@pytest.fixture
def client(proxy: Proxy):
    with redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0), socket_timeout=0.3, protocol=2) as client:
        yield client


def on_the(number: int, name: str, fault):
    """A plan: this fault for the so-manieth request of that name."""
    seen = []

    def plan(request):
        seen.extend([request] if request.name == name else [])
        return fault if request.name == name and len(seen) == number else None

    return plan


def test_without_a_plan_everything_goes_through(proxy, client):
    client.set("a", b"\r\n$5\r\n*")
    client.rpush("list", *range(1000))

    assert client.get("a") == b"\r\n$5\r\n*"
    assert client.lrange("list", 0, -1) == [str(number).encode() for number in range(1000)]
    assert client.get("none") is None
    assert client.lrange("none", 0, -1) == []


def test_a_pipeline_is_several_requests(proxy, client):
    with client.pipeline(transaction=False) as pipe:
        pipe.incr("a").incr("a").get("a")
        assert pipe.execute() == [1, 2, b"2"]

    assert [each.name for each in proxy.requests][-3:] == ["INCRBY", "INCRBY", "GET"]
    assert proxy.requests[-1].words == (b"GET", b"a")


def test_a_refused_request_never_arrives(proxy, client):
    proxy.plan = on_the(2, "INCRBY", Fault.REFUSED)
    client.incr("a")

    with pytest.raises(redis.ConnectionError):
        client.incr("a")

    assert client.get("a") == b"1"


@pytest.mark.parametrize("fault", [Fault.REPLY_LOST, Fault.REPLY_CUT])
def test_a_request_whose_reply_is_lost_was_done(proxy, client, fault):
    proxy.plan = on_the(1, "INCRBY", fault)

    with pytest.raises(redis.ConnectionError):
        client.incr("a")

    assert client.get("a") == b"1"


@pytest.mark.parametrize(("fault", "value"), [(Fault.BLACK_HOLE, None), (Fault.HALF_OPEN, b"1")])
def test_silence_ends_with_the_clients_patience(proxy, client, fault, value):
    proxy.plan = on_the(1, "INCRBY", fault)

    with pytest.raises(redis.TimeoutError):
        client.incr("a")

    assert client.get("a") == value


def test_a_delayed_request_is_answered_late(proxy, client):
    proxy.plan = on_the(1, "INCRBY", Delayed(0.1))
    began = time.monotonic()

    assert client.incr("a") == 1
    assert time.monotonic() - began >= 0.1


def test_a_blocking_read_holds_up_nobody_else(proxy, client):
    popped = []
    with redis.Redis.from_url(proxy.url, socket_timeout=5, protocol=2) as other:
        waits = threading.Thread(target=lambda: popped.append(other.blpop(["list"], 5)))
        waits.start()
        client.rpush("list", "x")
        waits.join()

    assert popped == [(b"list", b"x")]


def test_all_connections_can_be_cut_and_new_ones_are_taken(proxy, client):
    with client.client() as one_line:
        one_line.ping()

        proxy.cut_all()

        with pytest.raises(redis.ConnectionError):
            one_line.ping()
        assert one_line.ping()


def test_words_are_told_apart_by_their_lengths():
    assert words_of(b"*2\r\n$3\r\nSET\r\n$4\r\n\r\n$1\r\n") == (b"SET", b"\r\n$1")
