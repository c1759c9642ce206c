"""How far a long act has come: a line on stderr that is written over, where stderr is a terminal; else nothing."""

import sys
import time
from types import TracebackType
from typing import Self

EVERY_SECONDS = 0.1
WIDTH = 30


class Progress:
    """A bar of `total`; `step` is called for each thing that is done."""

    def __init__(self, total: int, what: str) -> None:
        self.done = 0
        self._total = max(total, 1)
        self._what = what
        self._is_shown = sys.stderr.isatty()
        self._drawn_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown and self._drawn_at:
            self._write("")

    def step(self, count: int = 1) -> None:
        """So many more."""
        self.done += count
        now = time.monotonic()
        if self._is_shown and now - self._drawn_at >= EVERY_SECONDS:
            self._drawn_at = now
            filled = min(WIDTH * self.done // self._total, WIDTH)
            self._write(f"{self._what} [{'#' * filled}{'.' * (WIDTH - filled)}] {self.done:,} of {self._total:,}")

    def _write(self, text: str) -> None:
        # Back to the first column, the text, and the rest of the line erased.
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
