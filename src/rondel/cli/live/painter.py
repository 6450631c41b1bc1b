"""Paints lines at the foot of a terminal, below all that is printed, and keeps them fresh."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TextIO

from rich.cells import chop_cells

from rondel.cli.cells import Line, cut
from rondel.cli.screen import Screen, below

FRAMES = 8
"""Pictures a second."""

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
COLOURS = ("red", "green", "yellow", "cyan")
ERASE_ABOVE = "\x1b[A\x1b[2K"
"""Erases the line above; what erases a whole screen at once makes some terminals keep it."""

UNBROKEN, BROKEN = "\x1b[?7l", "\x1b[?7h"
HIDE, UNHIDE = "\x1b[?25l", "\x1b[?25h"

Draw = Callable[[int, int, int], list[Line]]
"""Gives the lines to paint for a number of columns and rows and the picture's number."""


class Painter:
    """The lines at the foot of a terminal; `lock` is held while they are made.

    What anybody prints meanwhile goes above them. When a window gets narrower, terminals break the
    lines that are on it, so these are erased by the rows that they take then.
    """

    def __init__(self, draw: Draw, environ: Mapping[str, str] = os.environ) -> None:
        self.lock = threading.RLock()
        self._draw = draw
        self._stream: TextIO = below(sys.stdout)
        self._colours = not environ.get("NO_COLOR")
        self._breaks = breaks_lines(environ)
        self._painted: list[str] = []
        """The lines on the screen now."""
        self._echo = Echo()
        self._frame = 0
        self._active = False
        self._caught = ""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return self._size().columns - 1

    def start(self) -> None:
        """Paint from now on."""
        with self.lock:
            if not self._active:
                self._active = True
                self._divert(self._catch)
                self._echo.off()
                self._write(HIDE)
            if self._thread is None:
                atexit.register(self.pause)
                self._thread = threading.Thread(target=self._refresh, daemon=True)
                self._thread.start()

    def pause(self) -> None:
        """Stop painting until the next start, so that others can use the terminal."""
        with self.lock:
            if self._active:
                self._divert(None)
                self._active = False
                self._echo.on()
                rest, self._caught = self._caught, ""
                self._write(self._erased() + (f"{rest}\n" if rest else "") + UNHIDE)

    def stop(self) -> None:
        """Paint nothing any more."""
        self.pause()
        atexit.unregister(self.pause)
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def print(self, lines: Iterable[Line]) -> None:
        """Print lines above what is painted."""
        with self.lock:
            self._show([self._coded(line) for line in lines])

    def write(self, line: Line) -> None:
        """Print the beginning of a line, where somebody is to go on writing."""
        with self.lock:
            self._write(self._coded(line))

    # Inside

    def _refresh(self) -> None:
        while not self._stopped.wait(1 / FRAMES):
            with self.lock:
                if self._active:
                    self._frame += 1
                    self._show([])

    def _show(self, above: list[str]) -> None:
        if not self._active:
            self._write("".join(f"{line}\n" for line in above))
            return
        start = self._erased()
        size = self._size()
        rows = max(1, size.lines - 1)
        lines = [
            cut(line, size.columns - 1)
            for line in self._draw(size.columns - 1, rows, self._frame)[:rows]
        ]
        self._painted = ["".join(span.text for span in line) for line in lines]
        printed = "".join(f"{line}\n" for line in above)
        painted = "".join(f"{self._coded(line)}\n" for line in lines)
        self._write(f"{start}{printed}{UNBROKEN}{painted}{BROKEN}")

    def _erased(self) -> str:
        """The text that erases the painted lines at the window's present width."""
        if not self._painted:
            return ""
        columns = self._size().columns
        rows = sum(rows_of(text, columns) if self._breaks else 1 for text in self._painted)
        self._painted = []
        return "\r" + ERASE_ABOVE * rows

    def _catch(self, text: str) -> None:
        """Print text of others; whole lines go above what is painted."""
        with self.lock:
            lines, newline, self._caught = (self._caught + text).rpartition("\n")
            if newline:
                self._show(lines.split("\n"))

    def _divert(self, catch: Callable[[str], None] | None) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, Screen) and stream.isatty():
                stream.diverted = catch

    def _coded(self, line: Line) -> str:
        return "".join(self._styled(span.text, span.style) for span in line)

    def _styled(self, text: str, style: str) -> str:
        if not style or not text.strip() or (style in COLOURS and not self._colours):
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def _size(self) -> os.terminal_size:
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((80, 24))
        return size if size.columns > 1 and size.lines > 1 else os.terminal_size((80, 24))

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(text)
            self._stream.flush()


def breaks_lines(environ: Mapping[str, str]) -> bool:
    """Whether a terminal breaks lines anew when its window changes; few do not."""
    if environ.get("TMUX"):
        return True
    return "XTERM_VERSION" not in environ and environ.get("TERM") != "linux"


def rows_of(text: str, columns: int) -> int:
    """The rows that a line takes in a window of that width."""
    return max(1, len(chop_cells(text.rstrip(), columns)))


class Echo:
    """Switches the echo of the input terminal, if this process may do so."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def off(self) -> None:
        """Turn the echo off; input is still read later."""
        if os.name != "posix" or self._before is not None or not _is_ours():
            return
        import termios

        with suppress(termios.error):
            before = termios.tcgetattr(sys.stdin.fileno())
            quiet = [*before]
            quiet[3] &= ~termios.ECHO
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, quiet)
            self._before = before

    def on(self) -> None:
        """Turn the echo on again."""
        if self._before is None:
            return
        import termios

        before, self._before = self._before, None
        if _is_ours():
            with suppress(termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def _is_ours() -> bool:
    """Whether standard input is a terminal and this process is in its foreground."""
    try:
        descriptor = sys.stdin.fileno()
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False
