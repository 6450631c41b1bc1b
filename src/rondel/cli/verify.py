"""`rondel verify`: whether a database is as it was written, session by session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rondel.cli.database import MISSING_LOG
from rondel.cli.language import counted, translated, words
from rondel.cli.options import Debug
from rondel.errors import CallError, JournalCorrupt
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.sqlite.verify import SessionFindings
from rondel.sessions.engine import Engine
from rondel.sessions.salvage import whole_verdicts
from rondel.sessions.stores import default_database, is_address, open_store

if TYPE_CHECKING:
    from rondel.journal.postgres.store import PostgresStore


def verify(
    db: Annotated[
        str | None,
        typer.Argument(metavar="[DB]", help="A database; else RONDEL_DB or your data folder's."),
    ] = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Check every session: its order, gaps and checksums, and that its history folds.

    Prints a line for the file, or the database in PostgreSQL, and one for each session; ends with 1
    if anything is damaged.
    """
    named = db or default_database()
    if is_address(named):
        return asyncio.run(_verify_server(named))
    return asyncio.run(_verify(existing(named)))


def existing(db: str) -> Path:
    """The database file of that name."""
    path = Path(db)
    if not path.expanduser().exists():
        raise CallError(f"there is no database {path}")
    return path


def open_server(url: str) -> PostgresStore:
    """The sessions in PostgreSQL at that address."""
    return cast("PostgresStore", open_store(url, "normal"))


async def _verify(path: Path) -> int:
    try:
        store = SqliteStore(path)
    except JournalCorrupt as error:
        print(_line(words("file"), [str(error)], ""))
        return 1
    async with Engine(store) as engine:
        found = store.verify()
        problems = [*([MISSING_LOG] if store.lacks_log else []), *found.file]
        print(_line(words("file"), problems, words("ok")))
        return _told(list(whole_verdicts(engine, found.sessions)), problems)


async def _verify_server(url: str) -> int:
    store = open_server(url)
    async with Engine(store) as engine:
        found = store.verify()
        print(_line(words("database"), found.file, _pages(store.has_page_checksums)))
        return _told(list(whole_verdicts(engine, found.sessions)), found.file)


def _pages(checked: bool) -> str:
    if checked:
        return words("ok; the server checks its pages")
    return words("ok; the server has no checksums of its pages (pg_checksums --enable)")


def _told(verdicts: list[SessionFindings], problems: list[str]) -> int:
    for verdict in verdicts:
        print(_line(verdict.id, verdict.problems, _sound(verdict)))
    damaged = sum(bool(verdict.problems) for verdict in verdicts)
    what = counted(len(verdicts), "{count} session", "{count} sessions")
    told = "{sessions}, {count:,} damaged" if damaged else "{sessions}, none damaged"
    print(words(told, sessions=what, count=damaged))
    return 1 if damaged or problems else 0


def _line(name: str, problems: list[str], sound: str) -> str:
    told = sound
    if problems:
        told = words("damaged: {problems}", problems="; ".join(map(translated, problems)))
    return f"{name}  {' '.join(told.split())}"


def _sound(verdict: SessionFindings) -> str:
    ticks = counted(verdict.ticks, "ok, {count} tick", "ok, {count} ticks")
    if not verdict.unsealed:
        return ticks
    return ticks + words(", {count:,} with no checksum", count=verdict.unsealed)
