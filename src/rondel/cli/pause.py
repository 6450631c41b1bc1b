"""`rondel pause`: start no further step of a session."""

from __future__ import annotations

import asyncio

from rondel.cli.database import find, next_commands, open_existing
from rondel.cli.delivery import deliver, say
from rondel.cli.options import By, Db, Debug, GraphFile, Id, asker
from rondel.sessions.controls import Pause


def pause(
    session: Id,
    file: GraphFile = None,  # noqa: ARG001
    by: By = None,
    db: Db = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Pause a session, wherever it is driven: steps under way finish, no other starts."""
    return asyncio.run(_pause(db, session, asker(by)))


async def _pause(db: str | None, id: str, by: str) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        delivered = await deliver(session, Pause(by))
        how = next_commands(session, db).resume()
        say(session, delivered, "session {id} is paused", "session {id} is paused already", how)
    return 0
