"""Processor time from /proc: of a process and all it started, and of everybody else.

A run is judged by what *others* took while it lasted: all busy time of the machine, less what the harness, the engine
and the worker used. Time stolen by a hypervisor counts as others'; interrupts do not, since ours cause them too.
The kernel reports in steps of 10 ms, so figures over less than about a second are rough.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
NOISY_CORES = 0.25
"""A run in which others took more than this share of one core does not count."""
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Sample:
    """Processor seconds used so far, at one moment."""

    at: float
    busy: float
    own: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used between two samples. `cpu` is seconds by name; `others_cores` is a share of one core."""

    seconds: float
    cpu: Mapping[str, float]
    others_cores: float

    def cores(self, name: str) -> float:
        """The share of one core that `name` used."""
        return self.cpu.get(name, 0.0) / self.seconds


def sample(pids: Mapping[str, int | None]) -> Sample:
    """Look at the machine and at these processes with their descendants; None is somebody we cannot see."""
    children = _children()
    own = {name: _tree_seconds(pid, children) for name, pid in pids.items() if pid is not None}
    # With what it has reaped: a sender that came and went meanwhile is ours too.
    own["harness"] = _process_seconds(os.getpid())
    return Sample(at=time.monotonic(), busy=machine_busy_seconds(), own=own)


def between(before: Sample, after: Sample) -> Usage:
    """The difference. A process that was not there before had used nothing."""
    seconds = max(after.at - before.at, 1e-9)
    cpu = {name: used - before.own.get(name, 0.0) for name, used in after.own.items()}
    others = after.busy - before.busy - sum(cpu.values())
    return Usage(seconds=seconds, cpu=cpu, others_cores=max(others, 0.0) / seconds)


def wait_for_quiet(pids: Mapping[str, int | None], *, timeout: float, window: float = 0.5) -> float:
    """Wait until others leave the machine alone; returns what they took in the last look (cores)."""
    deadline = time.monotonic() + timeout
    while True:
        before = sample(pids)
        time.sleep(window)
        others = between(before, sample(pids)).others_cores
        if others <= NOISY_CORES or time.monotonic() >= deadline:
            return others


def machine_busy_seconds() -> float:
    """User, nice, system and stolen time of all processors since boot."""
    user, nice, system, _idle, _wait, _irq, _softirq, steal = _numbers(PROC / "stat")[:8]
    return (user + nice + system + steal) * TICK


def tree_seconds(pid: int) -> float:
    """Processor time of a process, of everything it started that still runs, and of what it has reaped."""
    return _tree_seconds(pid, _children())


def memory_of(pid: int) -> int:
    """Bytes of a process and of all that it started; what several share is counted once (PSS)."""
    children = _children()
    family = [pid]
    for each in family:
        family += children.get(each, ())
    return sum(_proportional_bytes(each) for each in family)


def _proportional_bytes(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _numbers(path: Path) -> list[int]:
    """The counters of the "cpu" line."""
    with path.open() as lines:
        return [int(word) for word in lines.readline().split()[1:]]


def _tree_seconds(pid: int, children: Mapping[int, list[int]]) -> float:
    return _process_seconds(pid) + sum(_tree_seconds(child, children) for child in children.get(pid, ()))


def _children() -> dict[int, list[int]]:
    """Parent → children, of all processes."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (fields := _stat_fields(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    return children


def _process_seconds(pid: int) -> float:
    """utime and stime, with those of reaped children; 0 for a process that has gone."""
    fields = _stat_fields(pid)
    return sum(int(field) for field in fields[11:15]) * TICK


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat behind the command's name, which may hold spaces: state, parent, …"""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text[text.rindex(")") + 2 :].split()
