"""Going on with the sessions of other servers on the same database, once these are gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from rondel.dispatch.dispatcher import LABEL
from rondel.errors import JournalError, RondelError, SessionBusy
from rondel.sessions.engine import Engine

log = logging.getLogger("rondel.server")

LOOK = 1.0
"""Seconds between looks for sessions whose driver is gone."""

LOOK_INTO_FILE = 10.0
"""The same for a file, whose running sessions are all looked at."""

UNDER_WAY = ("running", "pending")

AGAIN = 30.0
"""Seconds after which one is tried again that could not go on here."""


class Takeover:
    """Drives what no process drives any more.

    Sessions that were left to workers are theirs.
    """

    def __init__(self, engine: Engine, has_room: Callable[[], bool]) -> None:
        self._engine = engine
        self._has_room = has_room
        self._later: dict[str, float] = {}
        """Sessions that cannot go on here, and when to try again."""
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Take over no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        told = getattr(self._engine.store, "abandoned", None)
        while True:
            await asyncio.sleep(LOOK if told else LOOK_INTO_FILE)
            with suppress(JournalError):
                found = await (asyncio.to_thread(told) if told else self._engine.abandoned())
                await self._take_all(found)

    async def _take_all(self, ids: list[str]) -> None:
        now = monotonic()
        for session in ids:
            if self._has_room() and self._later.get(session, 0.0) <= now:
                await self._take(session)

    async def _take(self, id: str) -> None:
        row = await asyncio.to_thread(self._engine.store.session, id)
        if row is None or row.status not in UNDER_WAY:
            return  # it has ended meanwhile
        if LABEL in row.labels or not self._engine.can_run(row):
            self._later[id] = monotonic() + AGAIN
            return
        try:
            await self._engine.get(id).attend()
        except SessionBusy:
            return  # another server was first
        except Exception as error:  # a session that is broken keeps no other one from going on
            why = error if isinstance(error, RondelError) else type(error).__name__
            log.warning("session %s was left running and cannot go on here: %s", id, why)
            self._later[id] = monotonic() + AGAIN
        else:
            log.info("session %s goes on here: its process is gone", id)
            self._later.pop(id, None)
