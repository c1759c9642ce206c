"""On what it was measured: the kind of machine, the interpreters, the state of our code."""

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

from bench.errors import BenchError
from bench.files import ROOT

OURS = ("queue_app", "bench")
"""Folders whose contents decide the figures."""


def require_linux() -> None:
    """Raises BenchError elsewhere."""
    if not Path("/proc/stat").exists():
        raise BenchError("the benchmark reads processor time from /proc, which only Linux has")


def describe() -> dict[str, str]:
    """The kind of machine, without names."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{int(_field('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        "system": f"{_os_name()}, Linux {platform.release().split('-')[0]}",
    }


def interpreters() -> dict[str, str]:
    """Python, and Node where there is one."""
    versions = {"Python": platform.python_version()}
    if node := shutil.which("node"):
        versions["Node"] = subprocess.run(
            [node, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    return versions


def code_fingerprint() -> str:
    """Changes whenever our code or the benchmark's does: results of different code do not mix."""
    digest = hashlib.sha256()
    for file in _sources():
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def commit() -> str:
    """The commit of the checkout, where git can tell."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _sources() -> list[Path]:
    files = (file for folder in OURS for file in (ROOT / folder).rglob("*") if file.suffix in {".py", ".lua", ".mjs"})
    return sorted(files)


def _field(path: str, name: str) -> str:
    """The value of the first "name : value" line."""
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return "an unknown distribution"
