"""The end of a server's standard error, which says why it stopped."""

from __future__ import annotations

import asyncio
import os
from typing import Self, TextIO

KEPT = 4096
"""Bytes that are remembered."""

CAPACITY = 65536
"""Bytes that a pipe holds."""

CLOSED = -1


class ErrorOutput:
    """A pipe of which only the last bytes are kept; it is read as long as it is open."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        self.file: TextIO = os.fdopen(write, "w")
        self._ended = False
        self._kept = b""
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._loop.add_reader(self._read, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self._receive()
        self._loop.remove_reader(self._read)
        os.close(self._read)
        self._read = CLOSED

    def hand_over(self) -> None:
        """Close this process's writing end, so that `ended` is true when the server is gone."""
        self.file.close()

    @property
    def ended(self) -> bool:
        """Whether nobody can write to it any more."""
        self._receive()
        return self._ended

    @property
    def last_line(self) -> str:
        """The last line that says something."""
        self._receive()
        lines = self._kept.decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _receive(self) -> None:
        for _ in range(2):  # all that a pipe holds, and its end if nobody writes any more
            if self._read == CLOSED or self._ended:
                return
            try:
                received = os.read(self._read, CAPACITY)
            except BlockingIOError:
                return
            self._kept = (self._kept + received)[-KEPT:]
            if not received:
                self._ended = True
                self._loop.remove_reader(self._read)
