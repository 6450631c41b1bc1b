"""`rondel backup`: a copy of a database that may be in use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.database import rows
from rondel.cli.language import counted, words
from rondel.cli.options import Debug
from rondel.cli.repair import tell_lost
from rondel.cli.verify import existing, open_server
from rondel.journal.sqlite.backup import demand_new
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.engine import Engine
from rondel.sessions.salvage import Salvage
from rondel.sessions.stores import is_address


def backup(
    db: Annotated[str, typer.Argument(metavar="DB", help="The database.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy, which must not exist.")],
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Copy a database while sessions run in it; the copy is of one moment, and whole.

    Sessions in PostgreSQL are copied one by one into a database file. For all that servers keep
    besides, and to put it back, PostgreSQL has `pg_dump -Fc -f FILE DB` and `pg_restore`.
    """
    target = Path(file).expanduser().absolute()
    if is_address(db):
        return _told(*asyncio.run(_copy_from_server(db, target)), file, target)
    store = SqliteStore(existing(db))
    try:
        store.backup(target)
    finally:
        store.close()
    size = target.stat().st_size
    print(words("copied {db} to {file}, {size:,} bytes", db=db, file=file, size=size))
    return 0


async def _copy_from_server(url: str, target: Path) -> tuple[str, Salvage]:
    demand_new(target)
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    store = open_server(url)
    try:
        async with Engine(store) as engine:
            salvage = _copied(engine, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return store.name, salvage


def _copied(engine: Engine, target: Path) -> Salvage:
    copy = SqliteStore(target)
    try:
        salvage = Salvage(engine.store, copy)
        for session in reversed([row.id for row in rows(engine)]):
            salvage.session(session)
        salvage.memory()
    finally:
        copy.close()
    return salvage


def _told(db: str, salvage: Salvage, file: str, target: Path) -> int:
    tell_lost(salvage)
    size = target.stat().st_size
    sessions = counted(salvage.saved, "{count} session", "{count} sessions")
    told = "copied {sessions} of {db} to {file}, {size:,} bytes"
    print(words(told, sessions=sessions, db=db, file=file, size=size))
    return 1 if salvage.lost else 0
