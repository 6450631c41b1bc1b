"""Filters all output to the terminal.

Models, tools, files and names are written by others, and a terminal obeys what it is sent. So
characters that steer a terminal are written as `\u001b`, which JSON and quoted YAML read back as
the same text; only this program's own colours go past it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # but for tab and newline
    "\u202a-\u202e\u2066-\u2069]"  # which turn the order of what follows
)


def visible(text: str) -> str:
    """The text with control characters written as escapes; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


class Screen:
    """A stream that writes visible text to another; it is like that one in all else."""

    def __init__(self, stream: TextIO) -> None:
        self.below = stream
        self.diverted: Callable[[str], None] | None = None
        """Takes the text instead, while something is painted on the terminal."""

    def write(self, text: str) -> int:
        """Write the text, made visible."""
        if self.diverted is None:
            self.below.write(visible(text))
        else:
            self.diverted(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Let whatever is printed meanwhile, on both streams, go through a screen."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Screen(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def below(stream: TextIO) -> TextIO:
    """The stream below, for this program's own colours and cursor movements."""
    return stream.below if isinstance(stream, Screen) else stream
