"""The journal that lives as long as its process."""

from __future__ import annotations

from collections.abc import Sequence

from rondel.engine.ticks import AnyTick


class MemoryJournal:
    """Ticks in lists; nothing is copied, nothing survives."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[AnyTick]] = {}

    def append(self, session: str, tick: AnyTick) -> None:
        """Add a tick; it is as durable as it gets at once."""
        ticks = self._sessions.get(session)
        if ticks is None:
            ticks = self._sessions[session] = []
        ticks.append(tick)

    def read(self, session: str, start: int) -> Sequence[AnyTick]:
        """The session's ticks from the `start`-th on."""
        return self._sessions.get(session, [])[start:]
