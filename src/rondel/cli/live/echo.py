"""Turns the terminal's echo off while something is painted on it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


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
