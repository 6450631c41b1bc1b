"""Whether a terminal shows what is typed; not while something is painted on it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


class Echo:
    """Switches the echo of the terminal that is typed on, if it is this process's to switch."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def off(self) -> None:
        """Show nothing of what is typed; it is read all the same when somebody asks."""
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
        """Show it again."""
        if self._before is None:
            return
        import termios

        before, self._before = self._before, None
        if _is_ours():
            with suppress(termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def _is_ours() -> bool:
    """Whether a terminal is typed on, and for this process: one in the background would stop."""
    try:
        descriptor = sys.stdin.fileno()
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False
