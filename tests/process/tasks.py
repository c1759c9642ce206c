"""Tasks that write what they do into the effect ledger."""

import asyncio
import ctypes
import os
import time

from queue_app import TaskContext, task
from tests.process.ledger import note


@task(takes_context=True)
def work(context: TaskContext, seconds: float = 0.0) -> None:
    """Be busy for a while, whatever anybody says."""
    note(context, "start")
    if seconds:
        time.sleep(seconds)
    note(context, "end")


@task(takes_context=True)
def attentive(context: TaskContext, seconds: float) -> None:
    """Be busy for a while, and end when told to."""
    note(context, "start")
    if context.wait(seconds):
        note(context, context.cancel_reason)
        context.raise_if_cancelled()
    note(context, "end")


@task(takes_context=True, max_attempts=3, backoff=0.1)
def failing(context: TaskContext) -> None:
    """Fail."""
    note(context, "start")
    raise RuntimeError("as it should")


@task(takes_context=True)
def hold_the_interpreter(context: TaskContext, seconds: int) -> None:
    """Let no other thread of this process run for a while."""
    note(context, "start")
    # PyDLL keeps the lock that CDLL would let go of.
    ctypes.PyDLL(None).sleep(seconds)
    note(context, "end")


@task(takes_context=True, backoff=0.05)
def kill_own_runner(context: TaskContext, number: int) -> None:
    """End the process that runs this, as a fault in a C library would."""
    note(context, "start")
    os.kill(os.getpid(), number)
    time.sleep(60)


@task(takes_context=True)
def compute(context: TaskContext, seconds: float) -> None:
    """Keep one processor busy in Python alone."""
    note(context, "start")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1_000))
    note(context, "end")


KEPT: list[bytes] = []


@task(takes_context=True)
def hoard(context: TaskContext, megabytes: int) -> None:
    """Take memory and keep it."""
    note(context, "start")
    KEPT.append(os.urandom(1_000_000) * megabytes)
    note(context, "end")


@task(takes_context=True)
def tick(context: TaskContext) -> None:
    """Say that it ran, in as few words as can be."""
    note(context, "end")


@task
def echo(value: object, **named: object) -> list[object]:
    """What arrived."""
    return [repr(value), named]


@task
def doubled(text: str) -> str:
    """More than arrived."""
    return text + text


@task
def nowhere_near_a_number() -> float:
    """What no JSON has a word for."""
    return float("nan")


@task(takes_context=True)
def swallow(context: TaskContext, text: str) -> None:
    """Take it, whatever it is."""
    note(context, "start")
    note(context, "end")


@task
def complain(size: int) -> None:
    """At length."""
    raise RuntimeError("x" * size)


@task(takes_context=True)
def fork(context: TaskContext, how: str) -> None:
    """Fork, and let the child come back into the worker."""
    note(context, "start")
    if os.fork() == 0:
        if how == "raises":
            raise RuntimeError("the child fails")
        return
    note(context, "end")


@task(takes_context=True)
async def fork_async(context: TaskContext) -> None:
    """The same on the event loop."""
    note(context, "start")
    if os.fork() == 0:
        await asyncio.sleep(0.01)
        note(context, "child went on")
        return
    await asyncio.sleep(0.1)
    note(context, "end")
