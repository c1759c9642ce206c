"""What can go wrong in a benchmark, by name."""


class BenchError(Exception):
    """The benchmark cannot go on; the message is one line that says what to do about it."""


class Unavailable(BenchError):
    """A contender cannot run on this machine; the others can."""


class RunFailed(BenchError):
    """One run gave no figure: a worker that ended or stood still. It is recorded and tried again."""
