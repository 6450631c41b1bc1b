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

AGAIN = 30.0
"""Seconds after which one is tried again that could not go on here."""


class Takeover:
    """Drives what no process drives any more, where the store can say what that is.

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
        abandoned = getattr(self._engine.store, "abandoned", None)
        if abandoned is not None:
            self._task = asyncio.get_running_loop().create_task(self._run(abandoned))

    async def close(self) -> None:
        """Take over no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self, abandoned: Callable[[], list[str]]) -> None:
        while True:
            await asyncio.sleep(LOOK)
            with suppress(JournalError):
                await self._take_all(await asyncio.to_thread(abandoned))

    async def _take_all(self, ids: list[str]) -> None:
        now = monotonic()
        for session in ids:
            if self._has_room() and self._later.get(session, 0.0) <= now:
                await self._take(session)

    async def _take(self, id: str) -> None:
        row = await asyncio.to_thread(self._engine.store.session, id)
        if row is None or LABEL in row.labels or not self._engine.can_run(row):
            self._later[id] = monotonic() + AGAIN
            return
        try:
            await self._engine.get(id).attend()
        except SessionBusy:
            return  # another server was first
        except RondelError as error:
            log.warning("session %s was left running and cannot go on here: %s", id, error)
            self._later[id] = monotonic() + AGAIN
        else:
            log.info("session %s goes on here: its process is gone", id)
            self._later.pop(id, None)
