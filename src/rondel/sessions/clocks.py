"""The clock of each session: the store's, unless the session's past is ahead of it."""

from __future__ import annotations

from collections.abc import Callable

from rondel.engine.core.state import SessionState
from rondel.journal.clock import Clock
from rondel.journal.store import Store


class Clocks:
    """Keeps a clock for each session whose last driver's clock was ahead."""

    def __init__(self, store: Store) -> None:
        self._now = store.now
        self._ahead: dict[str, Clock] = {}

    def of(self, id: str, state: SessionState) -> Callable[[], float]:
        """The clock of a session; it never shows less than the session's last tick."""
        if self._now() >= state.last_at:
            self._ahead.pop(id, None)
            return self._now
        kept = self._ahead.get(id)
        if kept is None or kept.now() < state.last_at:
            kept = self._ahead[id] = Clock(state.last_at)
        return kept.now
