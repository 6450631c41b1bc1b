"""Buffers the newest ticks of a session, so that its watchers need not read the journal."""

from __future__ import annotations

from asyncio import Future

from rondel.engine.ticks import AnyTick
from rondel.journal.store import Durable

KEPT = 512
"""The least number of ticks that are kept; slower watchers read the journal."""


class TickBuffer:
    """Ticks from one position on; each can be read once it is durable."""

    __slots__ = ("_entries", "_first")

    def __init__(self, length: int) -> None:
        self._first = length
        self._entries: list[tuple[AnyTick, Durable]] = []

    def add(self, tick: AnyTick, durable: Durable) -> None:
        """Take the session's next tick."""
        if len(self._entries) >= 2 * KEPT:
            del self._entries[:KEPT]
            self._first += KEPT
        self._entries.append((tick, durable))

    def read(self, start: int, stop: int | None) -> list[AnyTick] | None:
        """The durable ticks from the `start`-th on; None if the buffer does not have them."""
        first = self._first
        if start < first:
            return None
        found = []
        for tick, durable in self._entries[start - first : None if stop is None else stop - first]:
            if durable is not None:
                if not isinstance(durable, Future):
                    return None
                if not durable.done():
                    break
                if durable.cancelled() or durable.exception() is not None:
                    return None
            found.append(tick)
        return found
