"""Environments of the peers' own, made once and kept in the cache: a venv, or a folder of node modules."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.errors import Unavailable
from bench.processes import install

OLDEST_NODE = 18


def make_venv(folder: Path, requirements: Path, base: Path | None = None) -> Path:
    """A venv of this Python, or of `base`, with exactly `requirements`; returns its interpreter. Made anew when either
    changed."""
    python = folder / "bin" / "python"
    base = base or Path(sys.executable)
    stamp = _stamp(requirements.read_bytes(), str(base).encode(), sys.version.encode())
    if _is_fresh(folder, stamp):
        return python
    log = _emptied(folder)
    install([str(base), "-m", "venv", str(folder)], folder.parent, log)
    install([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], folder, log)
    _keep(folder, stamp)
    return python


def newest_python() -> Path:
    """The newest interpreter that is found. Raises Unavailable where none is 3.12 or newer."""
    names = [shutil.which(f"python3.{minor}") for minor in range(20, 11, -1)]
    homes = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"), key=_minor_version, reverse=True)
    for candidate in [*(Path(name) for name in names if name), *homes]:
        check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))"
        if not subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode:
            return candidate
    raise Unavailable("Python 3.12 or newer was not found")


def _minor_version(python: Path) -> int:
    return int(python.parts[-3].split(".")[1])


def make_node_modules(folder: Path, source: Path) -> Path:
    """`source`'s scripts beside the node modules of its lock file; returns the folder. Made anew when it changed."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise Unavailable(f"node (at least {OLDEST_NODE}) and npm were not found")
    stamp = _stamp(*(file.read_bytes() for file in sorted(source.glob("package*.json"))))
    if not _is_fresh(folder, stamp):
        log = _emptied(folder)
        _copy(source, folder, "package*.json")
        install([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder, log)
        _keep(folder, stamp)
    _copy(source, folder, "*.mjs")
    return folder


def pins(requirements: Path) -> dict[str, str]:
    """Name → version of a requirements file in which everything is pinned."""
    lines = requirements.read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def node_pins(package: Path) -> dict[str, str]:
    """Name → version of the direct dependencies in a package.json."""
    return dict(json.loads(package.read_text())["dependencies"])


def _stamp(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _is_fresh(folder: Path, stamp: str) -> bool:
    kept = folder / ".stamp"
    return kept.exists() and kept.read_text() == stamp


def _keep(folder: Path, stamp: str) -> None:
    (folder / ".stamp").write_text(stamp)


def _emptied(folder: Path) -> Path:
    """Start anew; returns the log of what follows."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder.parent / f"{folder.name}.log"


def _copy(source: Path, target: Path, pattern: str) -> None:
    for file in source.glob(pattern):
        shutil.copy(file, target / file.name)
