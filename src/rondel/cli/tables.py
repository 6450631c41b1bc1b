"""Tables and figures for people: aligned, and plain where nobody watches."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from datetime import datetime

from rondel.cli.screen import below, visible

MINUTE, HOUR, DAY = 60, 3600, 86400


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> None:
    """Print rows under their headers; columns named in `right` are aligned to the right.

    On a terminal a line that does not fit is cut.
    """
    from rich.cells import cell_len, set_cell_size

    cells = [tuple(headers), *([visible(" ".join(cell.split())) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    terminal = sys.stdout.isatty()
    columns = shutil.get_terminal_size().columns
    rightward = right.split()

    def padded(text: str, header: str, width: int) -> str:
        if header in rightward:
            return " " * (width - cell_len(text)) + text
        return set_cell_size(text, width)

    for number, row in enumerate(cells):
        parts = (padded(*each) for each in zip(row, headers, widths, strict=True))
        line = "  ".join(parts).rstrip()
        if terminal and cell_len(line) > columns:
            line = set_cell_size(line, columns - 1) + "…"
        if terminal and number == 0:
            print(f"\x1b[1m{line}\x1b[0m", file=below(sys.stdout))
        else:
            print(line)


def moment(seconds: float) -> str:
    """A time as the clock on the wall shows it."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def length(seconds: float) -> str:
    """How long something took."""
    if seconds < MINUTE:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)}m {int(seconds % MINUTE)}s"
    if seconds < DAY:
        return f"{int(seconds // HOUR)}h {int(seconds % HOUR // MINUTE)}m"
    return f"{int(seconds // DAY)}d {int(seconds % DAY // HOUR)}h"


def short(text: str, width: int = 60) -> str:
    """One line of at most that many columns."""
    from rich.cells import cell_len, set_cell_size

    line = visible(" ".join(text.split()))
    return line if cell_len(line) <= width else set_cell_size(line, width - 1) + "…"
