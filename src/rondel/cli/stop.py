"""`rondel stop`: end a session for good."""

from __future__ import annotations

import asyncio

from rondel.cli.database import find, open_existing
from rondel.cli.delivery import deliver, say
from rondel.cli.options import By, Db, Debug, GraphFile, Id, asker
from rondel.sessions.controls import Stop


def stop(
    session: Id,
    file: GraphFile = None,  # noqa: ARG001
    by: By = None,
    db: Db = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """End a session for good, wherever it is driven; steps under way are cancelled."""
    return asyncio.run(_stop(db, session, asker(by)))


async def _stop(db: str | None, id: str, by: str) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        delivered = await deliver(session, Stop(by))
        told = "session {id} is cancelled", "session {id} is cancelled already"
        say(session, delivered, *told)
    return 0
