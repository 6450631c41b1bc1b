"""Measures text in cells of a terminal; a Chinese character takes two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from rondel.cli.screen import visible

ELLIPSIS = "…"
CLOSING = "，。；：？！、）》」”’"
OPENING = ("（", "《", "「", "“", "‘")
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = re.compile(r"(?<=\S) {3,}")
"""Wide gaps between columns; they are closed where a line does not fit."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Span(NamedTuple):
    """A piece of a line, in a style: dim, bold, or a colour."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def flat(text: str) -> str:
    """A text as one line without control characters."""
    return visible(" ".join(text.split()))


def head(text: str, width: int) -> str:
    """The beginning of a text, as far as it fits."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS if width > 1 else ELLIPSIS[:width]


def tail(text: str, width: int) -> str:
    """The end of a text, as far as it fits."""
    if cell_len(text) <= width:
        return text
    if width < 2:
        return ELLIPSIS[:width]
    return ELLIPSIS + set_cell_size(text[::-1], width - 1)[::-1].lstrip()


def short(text: str, width: int = 60) -> str:
    """A text as one line of at most `width` cells."""
    return head(flat(text), width)


def wide(text: str, width: int) -> str:
    """A text filled up with spaces to `width` cells; a negative width puts them before it."""
    spaces = " " * (abs(width) - cell_len(text))
    return spaces + text if width < 0 else text + spaces


def padded(text: str, width: int) -> str:
    """A text that takes exactly `width` cells, cut if it is longer."""
    return wide(head(text, width), width)


def cut(line: Iterable[Span], width: int) -> Line:
    """A line that takes no more than `width` cells."""
    spans: list[Span] = []
    left = width
    for span in line:
        text = head(span.text, left)
        if text:
            spans.append(Span(text, span.style))
        left -= cell_len(text)
        if text != span.text:
            break
    return tuple(spans)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines that fit, broken between words, or where a language has no spaces."""
    return [part for line in text.split("\n") for part in _folded(line.expandtabs(), width)]


def _folded(line: str, width: int) -> Iterator[str]:
    if cell_len(line) <= width:
        yield line
        return
    squeezed = COLUMNS.sub("  ", line)
    if cell_len(squeezed) <= width:
        yield squeezed
        return
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    current = indent
    for word in _words(line.strip()):
        if cell_len(current) + cell_len(word.rstrip()) > width and current.strip():
            yield current.rstrip()
            current = indent
        *full, rest = chop_cells(word, width - len(indent)) or [""]
        yield from (indent + part for part in full)
        current += rest
    yield current.rstrip()


def _words(text: str) -> Iterator[str]:
    """Words with the spaces after them; a wide character is a word, but for what closes one or
    opens the next.
    """
    word = ""
    for character in text:
        ends = word.endswith(" ") and character != " "
        is_wide = cell_len(character) == 2 and character not in CLOSING
        opened = word.endswith(OPENING)
        if word and not opened and (ends or is_wide or _is_wide_before(word, character)):
            yield word
            word = ""
        word += character
    yield word


def _is_wide_before(word: str, character: str) -> bool:
    return cell_len(word[-1]) == 2 and (character.isalnum() or character in "`-[")


def sparkline(scores: Sequence[float], target: float | None = None) -> str:
    """A small picture of how scores went; the goal is the top of it."""
    if len(scores) < 2:
        return ""
    low = min(scores)
    high = max(scores) if target is None else max(*scores, target)
    if high == low:
        return BARS[3] * len(scores)
    top = len(BARS) - 1
    return "".join(BARS[round((score - low) / (high - low) * top)] for score in scores)
