"""Sample tasks: enough to see tasks succeed, wait, retry and die."""

import time

from queue_app import TaskContext, task


class SampleFailure(Exception):
    """What the failing samples raise."""


@task
def echo(text: str) -> str:
    """Give back what came in."""
    return text


@task
def sleep(seconds: float) -> None:
    """Be busy for a while."""
    time.sleep(seconds)


@task(max_attempts=3)
def fail(reason: str) -> None:
    """Fail every time: two retries, then dead."""
    raise SampleFailure(reason)


@task(max_attempts=5, takes_context=True)
def recover(context: TaskContext, failures: int) -> None:
    """Fail this many times, then succeed."""
    if context.attempt <= failures:
        raise SampleFailure(f"failure {context.attempt} of {failures}")
