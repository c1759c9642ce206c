"""How facts look at a shell. Nothing that a task carries can move the cursor or change a colour."""

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from django.core.management.base import CommandError

SHORTEST_LAST = 12


def harmless(text: str) -> str:
    """The text without what a terminal would obey: control characters and halves of pairs are written out."""
    plain = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return "".join(plain)


def one_line(text: str, limit: int) -> str:
    """The text in one line of at most `limit` characters."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they must be; numbers on the right. On a terminal the last column ends with the line."""
    texts = [[harmless(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(headings), *texts]) for column in range(len(headings))]
    is_number = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        ]
        return "  ".join(padded).rstrip()

    lines = [line(list(headings)), *map(line, texts)]
    if sys.stdout.isatty():
        # Not less than leaves something of the last column: a narrow terminal may wrap.
        room = max(shutil.get_terminal_size().columns, sum(widths[:-1]) + 2 * len(widths) + SHORTEST_LAST)
        lines = [each if len(each) <= room else f"{each[: room - 1]}…" for each in lines]
    return "\n".join(lines)


def as_json(value: object, indent: int | None = 2) -> str:
    """For programs: one document, in ASCII."""
    return json.dumps(value, indent=indent, sort_keys=True, default=str)


def as_time(seconds: float | None) -> str:
    """An instant in UTC, to the second; a dash for none."""
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def counted(number: int, noun: str) -> str:
    """1 task, 2 tasks"""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def confirmed(question: str, *, is_sure: bool) -> bool:
    """Whether to go on: said beforehand with --yes, or asked for. Without a terminal, only beforehand."""
    if is_sure:
        return True
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Say --yes to do it.", returncode=2)
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
