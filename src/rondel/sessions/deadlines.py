"""Wakes sessions when their deadlines pass.

The store keeps an index of deadlines, so a waiting session is not read before its time.
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
"""Seconds that the driver of a session has to act on its deadline first."""

LATER = 10.0
"""Seconds after which a session that could not be driven here is tried again."""

FEW = 100
"""How many sessions are looked at together."""

ALL = 1 << 60
"""A limit above any number of sessions."""

Wake = Callable[[str], Awaitable[object]]
"""Goes on with a session whose deadline has passed, if this process can."""


def due_at(state: SessionState, now: float) -> float | None:
    """The next deadline of a session at rest, by a store whose clock shows `now`.

    The session's own clock may be ahead of it.
    """
    if not state.questions or state.ended or state.status == "running":
        return None
    deadline = state.next_deadline
    return None if deadline is None else deadline - max(state.last_at - now, 0.0)


class DeadlineWatch:
    """Wakes the sessions of a store at their deadlines, whichever process noted them."""

    def __init__(self, store: Store, wake: Wake) -> None:
        self._store = store
        self._wake = wake
        self._tried: dict[str, float] = {}
        """When sessions that were woken and are still due are woken again."""
        self._ahead: dict[str, float] = {}
        """The corrected deadlines of sessions whose driver's clock was ahead."""
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
        """Correct the deadlines that were noted by a clock that was ahead."""
        now = self._store.now()
        found = await asyncio.to_thread(self._store.due, ALL, now)
        self._ahead = {due.session: due.at - (due.noted - now) for due in found}

    async def _look(self) -> float:
        """Wake what is due; returns the seconds until the next look."""
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
