"""The no-op task."""

from django.tasks import task

from bench.mark import mark


@task
def noop(index: int) -> None:
    """Note that it runs, and nothing else."""
    mark(index)
