"""Lines from standard input while a session goes on: from a person, a pipe or a file."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable

CHUNK = 65536


class Keyboard:
    """Reads answers line by line; blank lines do not count, and nothing is read before it is asked.

    A terminal or a pipe is waited for without holding up the session. Where that is not
    possible, lines are read in place: from a file, which never makes anyone wait.
    """

    def __init__(self) -> None:
        self._descriptor = _waitable()
        self._rest = b""
        self._ended = sys.stdin is None
        self._waiting: asyncio.Future[None] | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether standard input is a terminal."""
        return sys.stdin is not None and sys.stdin.isatty()

    async def line(self, prompt: Callable[[], None]) -> str | None:
        """The next line that says something, or None when there will be no more."""
        while True:
            prompt()
            line = await self._next()
            if line is None or line.strip():
                return line and line.strip()

    async def enter(self, prompt: Callable[[], None]) -> str | None:
        """The next line, which may be empty, or None when there will be no more."""
        prompt()
        line = await self._next()
        return line and line.strip()

    def close(self) -> None:
        """Read no more; whoever waits for a line gets None."""
        self._ended = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _next(self) -> str | None:
        if self._descriptor is None:
            return (not self._ended and sys.stdin.readline()) or None
        while b"\n" not in self._rest and not self._ended:
            await self._more(self._descriptor)
        line, newline, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace") if line or newline else None

    async def _more(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        loop.add_reader(descriptor, self._readable)
        try:
            await self._waiting
        finally:
            loop.remove_reader(descriptor)
        if not self._ended:
            chunk = os.read(descriptor, CHUNK)
            self._rest += chunk
            self._ended = not chunk

    def _readable(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _waitable() -> int | None:
    """Standard input's descriptor if one can wait for it to have something to read."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    terminal = os.isatty(descriptor)
    pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return descriptor if os.name == "posix" and (terminal or pipe) else None
