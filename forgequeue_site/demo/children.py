"""The processes that the demo starts: each in a process group of its own, with a log of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

POLL_SECONDS = 0.05


class Child:
    """A process of the demo. A Ctrl-C in the terminal does not reach it: the demo decides when it stops."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        log: Path,
        cwd: Path,
        stdin: int = subprocess.DEVNULL,
        passing: Sequence[int] = (),
    ) -> None:
        """Start `arguments`, which inherits the descriptors `passing`; its output replaces what is in `log`."""
        self.name = name
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                arguments,
                cwd=cwd,
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=passing,
                start_new_session=True,
            )

    @property
    def group(self) -> int:
        """Its process group: what it starts belongs to that too."""
        return self.process.pid

    @property
    def has_ended(self) -> bool:
        """It runs no more."""
        return self.process.poll() is not None

    def epitaph(self) -> str:
        """How it ended, and the end of its log."""
        return f"the {self.name} stopped by itself with exit code {self.process.returncode}; {tail(self.log)}"


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log, with its name."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n  ".join([f"the end of {log}:", *text.splitlines()[-lines:]])


def stop(children: Iterable[Child], *, seconds: float, is_hurried: Callable[[], bool] = lambda: False) -> None:
    """End them: asked first, all at once, then by force for those that are not done after `seconds` or in a hurry."""
    children = [child for child in children if not child.has_ended]
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + seconds
    while not all(child.has_ended for child in children) and time.monotonic() < deadline and not is_hurried():
        time.sleep(POLL_SECONDS)
    for child in children:
        kill_group(child.group)
        child.process.wait()


def kill_group(group: int) -> None:
    """End whatever is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # macOS answers "not permitted" for a group of which only zombies are left.
        return
