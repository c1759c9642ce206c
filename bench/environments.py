"""Environments of the peers' own, made once and kept in the cache: a venv, or a folder of node modules."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from bench.errors import Unavailable
from bench.processes import install

OLDEST_NODE = 18


def make_venv(folder: Path, requirements: Path) -> Path:
    """A venv of this Python with exactly `requirements`; returns its interpreter. Made anew when either changed."""
    python = folder / "bin" / "python"
    stamp = _stamp(requirements.read_bytes(), sys.version.encode())
    if _is_fresh(folder, stamp):
        return python
    log = _emptied(folder)
    install([sys.executable, "-m", "venv", str(folder)], folder.parent, log)
    install([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], folder, log)
    _keep(folder, stamp)
    return python


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
