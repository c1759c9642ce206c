"""The no-op."""

from bench.mark import mark
from queue_app import task


@task
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)
