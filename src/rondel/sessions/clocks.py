"""The time of each session: the store's, unless the session's past is ahead of it."""

from __future__ import annotations

from collections.abc import Callable

from rondel.engine.core.fold import Core
from rondel.journal.clock import Clock
from rondel.journal.store import Store


class Clocks:
    """Keeps a clock for each session that was last driven by a clock which was ahead."""

    def __init__(self, store: Store) -> None:
        self._now = store.now
        self._ahead: dict[str, Clock] = {}

    def of(self, id: str, core: Core) -> Callable[[], float]:
        """The clock of a session; it is never behind what the session has recorded."""
        if self._now() >= core.last_at:
            self._ahead.pop(id, None)
            return self._now
        kept = self._ahead.get(id)
        if kept is None or kept.now() < core.last_at:
            kept = self._ahead[id] = Clock(core.last_at)
        return kept.now
