"""When sessions need somebody though nobody asks, and who is there then.

What is due stands in the store, in an index: a session that waits is not read before its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from rondel.engine.core.state import SessionState
from rondel.errors import JournalError
from rondel.journal.store import Store

LOOK = 1.0
"""Seconds between looks for deadlines that other processes have noted."""

SOON = 0.02
"""Seconds after which a deadline has passed for sure, and whoever asked has seen to it."""

LATER = 10.0
"""Seconds after which a session is tried again that nobody here could attend to."""

FEW = 100
"""How many sessions are looked at together."""

ALL = 1 << 60
"""More sessions than there are."""

Wake = Callable[[str], Awaitable[None]]
"""Attends to a session whose deadline has passed, if that can be done here."""


def due_at(state: SessionState, now: float) -> float | None:
    """When a session that rests needs somebody, by a store whose clock shows `now`.

    The session's own clock may be ahead of it.
    """
    if not state.questions or state.ended or state.status == "running":
        return None
    deadline = state.next_deadline
    return None if deadline is None else deadline - max(state.last_at - now, 0.0)


class DeadlineWatch:
    """Wakes the sessions of a store when they are due, whoever noted that."""

    def __init__(self, store: Store, wake: Wake) -> None:
        self._store = store
        self._wake = wake
        self._tried: dict[str, float] = {}
        """Sessions that were woken and are due still, and when they are woken again."""
        self._ahead: dict[str, float] = {}
        """Sessions whose deadline was noted by a clock that was ahead: when they are due here."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch from now on, in this event loop."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())

    def close(self) -> None:
        """Watch no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        is_new = True
        while True:
            pause = LOOK
            with suppress(JournalError):  # a store that is away comes back
                if is_new:
                    await self._allow_for_clocks()
                    is_new = False
                pause = await self._look()
            await asyncio.sleep(pause)

    async def _allow_for_clocks(self) -> None:
        """A deadline noted by a clock that was ahead of today's is not later for that."""
        now = self._store.now()
        found = await asyncio.to_thread(self._store.due, ALL, now)
        self._ahead = {due.session: due.at - (due.noted - now) for due in found}

    async def _look(self) -> float:
        """Wake what is due; seconds until the next look."""
        count = FEW + len(self._tried)
        found = await asyncio.to_thread(self._store.due, count)
        now = self._store.now()
        times = {due.session: due.at for due in found} | self._ahead
        self._tried = {name: t for name, t in self._tried.items() if name in times and t > now}
        waits = [LOOK]
        for session, time in times.items():
            wait = self._tried.get(session, time + SOON) - now
            if wait > 0:
                waits.append(wait)
            else:
                self._tried[session] = now + LATER
                self._ahead.pop(session, None)
                await self._wake(session)
        all_were_due = len(waits) == 1 and len(found) == count
        return 0.0 if all_were_due else min(waits)
