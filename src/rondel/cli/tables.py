"""What is printed: aligned tables for people, JSON for programs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from rondel.cli.language import words
from rondel.cli.screen import below, visible

MINUTE, HOUR, DAY = 60, 3600, 86400


def print_table(
    headers: Sequence[str],
    rows: Collection[Any],
    right: Collection[str] = (),
    cells: Callable[[Any], Sequence[str]] = tuple,
) -> None:
    """Print rows under their headers; columns named in `right` are aligned to the right.

    `cells` makes the texts of a row; it is called twice for each, so that none is kept. On a
    terminal a line that does not fit is cut.
    """
    from rich.cells import cell_len

    from rondel.cli.cells import head, wide

    def lines() -> Iterator[Sequence[str]]:
        yield [words(header) for header in headers]
        for row in rows:
            yield [visible(" ".join(cell.split())) for cell in cells(row)]

    widths = [0] * len(headers)
    for row in lines():
        widths = [max(*pair) for pair in zip(widths, map(cell_len, row), strict=True)]
    for column, header in enumerate(headers):
        if header in right:
            widths[column] *= -1
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns

    for number, row in enumerate(lines()):
        line = "  ".join(map(wide, row, widths)).rstrip()
        if terminal:
            line = head(line, columns)
        if terminal and number == 0:
            print(f"\x1b[1m{line}\x1b[0m", file=below(sys.stdout))
        else:
            print(line)


def moment(seconds: float) -> str:
    """A time as local time."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def length(seconds: float) -> str:
    """A duration as text."""
    if seconds < MINUTE:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)}m {int(seconds % MINUTE)}s"
    if seconds < DAY:
        return f"{int(seconds // HOUR)}h {int(seconds % HOUR // MINUTE)}m"
    return f"{int(seconds // DAY)}d {int(seconds % DAY // HOUR)}h"


def json_line(value: Any) -> str:
    """A value as one line of JSON, always in the same bytes."""
    return msgspec.json.encode(msgspec.to_builtins(value)).decode()


def document(value: Any) -> str:
    """One JSON document, easy to read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
