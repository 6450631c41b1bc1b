"""`rondel import`: a session from a file that `rondel export` wrote."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.archive import Archived, read_session, with_id
from rondel.cli.database import MEMORY, open_new
from rondel.cli.options import Db, Debug
from rondel.errors import CallError
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Durable, Store


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `rondel export` wrote.")],
    db: Db = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Add a session from a file; it keeps its id unless that is taken. Nothing is overwritten."""
    try:
        with Path(file).open("rb") as lines:
            archived = read_session(file, lines)
    except OSError as error:
        raise CallError(f"{file} cannot be read: {error.strerror or error}") from error
    return asyncio.run(_import(db, archived))


async def _import(db: str | None, archived: Archived) -> int:
    async with open_new(db) as engine:
        store = engine.store
        if isinstance(store, MemoryStore):
            raise CallError(f"sessions in {MEMORY} end with their process; name a file with --db")
        given = archived.row.id
        if store.session(given) is not None:
            archived = with_id(archived, secrets.token_hex(8))
        await _add(store, archived)
    new = archived.row.id
    taken = f"; the id {given} was taken" if new != given else ""
    print(f"session {new} is {archived.status}, with {len(archived.ticks):,} ticks{taken}")
    return 0


async def _add(store: Store, archived: Archived) -> None:
    """Add the whole session, or nothing of it."""
    name = archived.row.id
    await _done(store.create(archived.row))
    try:
        store.extend(name, archived.ticks)
        await _done(store.set_status(name, archived.status, archived.reason))
    except BaseException:
        store.delete(name)
        raise


async def _done(durable: Durable) -> None:
    if durable is not None:
        await durable
