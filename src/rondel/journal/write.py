"""A change of one session on its way into the file, and the task that waits for it.

Of a hundred sessions each has one under way in every turn of the event loop, so it is no future:
a future tells the loop, and the loop the task, one after the other. This is as much of one as a
task asks for when it waits. Whoever has made the writes of a turn durable lets the tasks go on
right there.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextvars import Context

from rondel.errors import RondelError
from rondel.journal.head import Head


class Write:
    """A tick, or another change; awaited at most by one task at a time, it ends when durable."""

    __slots__ = (
        "_asyncio_future_blocking",
        "_context",
        "_go_on",
        "_is_cancelled",
        "_is_over",
        "also",
        "error",
        "head",
        "loop",
        "record",
    )

    def __init__(
        self,
        head: Head,
        record: bytes | None,
        also: Callable[[sqlite3.Connection], object] | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.head = head
        self.record = record
        self.also = also
        self.loop = loop
        """Where somebody may wait for it; None if nobody can."""
        self.error: RondelError | None = None
        self._is_over = self._is_cancelled = False
        self._go_on: Callable[[Write], object] | None = None
        self._asyncio_future_blocking: bool | None = None

    def __await__(self) -> Generator[Write, None, None]:
        if self._is_over or self._is_cancelled:
            self.result()
        elif self._go_on is not None:
            raise RuntimeError("somebody waits for this write already")
        else:
            self._asyncio_future_blocking = True
            yield self

    def settle(self) -> None:
        """It is durable or has its error: let the task that waits go on, here and now."""
        self._is_over = True
        if self._go_on is not None:
            self._context.run(self._go_on, self)

    # What a task asks of whatever it waits for

    def add_done_callback(self, go_on: Callable[[Write], object], *, context: Context) -> None:
        """How to let the task go on."""
        self._asyncio_future_blocking = None
        self._go_on = go_on
        self._context = context

    def get_loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop of the task."""
        return self.loop

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002
        """The task waits no longer; what is on its way is written all the same."""
        if self._is_over or self._go_on is None or self.loop is None:
            return False
        self._is_cancelled = True
        self.loop.call_soon(self._go_on, self, context=self._context)
        self._go_on = None
        return True

    def result(self) -> None:
        """Raise what went wrong, if something did."""
        if self._is_cancelled:
            raise asyncio.CancelledError
        if self.error is not None:
            raise self.error


def settle_all(writes: list[Write], loop: asyncio.AbstractEventLoop) -> None:
    """Let everybody in a loop go on, outside any task."""
    left = iter(writes)
    try:
        for write in left:
            write.settle()
    except BaseException:  # the program is to end: whoever is left may still clean up
        loop.call_soon(settle_all, list(left), loop)
        raise
