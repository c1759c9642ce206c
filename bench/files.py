"""Where the benchmark keeps what it makes: under `var/bench`, outside git."""

import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""
DOCUMENT = ROOT / "docs" / "benchmarks.md"
MEMORY = Path("/dev/shm")  # noqa: S108 - only a folder of our own is made in it, by mkdtemp
"""Where Linux mounts a tmpfs."""


def cache_folder(path: Path | None = None) -> Path:
    """The folder for environments, logs and results; git does not see it."""
    folder = (path or ROOT / "var" / "bench").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder whose files live in memory, so that a mark never waits for a disk."""
    return tempfile.TemporaryDirectory(prefix="forgequeue-bench-", dir=MEMORY if MEMORY.is_dir() else None)
