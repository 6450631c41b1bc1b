"""`rondel verify`, `rondel backup`, `rondel repair`: whole databases, as they were written."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rondel.cli.database import MISSING_LOG
from rondel.cli.language import counted, translated, words
from rondel.errors import CallError, JournalCorrupt
from rondel.journal.rules import SessionFindings, all_rows
from rondel.journal.sqlite.copies import demand_new
from rondel.journal.sqlite.log_damage import beside, log_damage
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.engine import Engine
from rondel.sessions.salvage import Salvage, with_fold_problems
from rondel.sessions.stores import default_database, is_address, open_store

if TYPE_CHECKING:
    from rondel.journal.postgres.store import PostgresStore


def verify(
    db: Annotated[
        str | None,
        typer.Argument(metavar="[DB]", help="A database; else RONDEL_DB or your data folder's."),
    ] = None,
) -> int:
    """Check every session: its order, gaps and checksums, and that its history folds.

    Prints a line for the file, or the database in PostgreSQL, and one for each session; ends with 1
    if anything is damaged.
    """
    named = db or default_database()
    if is_address(named):
        return asyncio.run(_verify_server(named))
    return asyncio.run(_verify(_existing(named)))


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
        return _tell_findings(list(with_fold_problems(engine, found.sessions)), problems)


async def _verify_server(url: str) -> int:
    store = _open_server(url)
    async with Engine(store) as engine:
        found = store.verify()
        print(_line(words("database"), found.file, _pages(store.has_page_checksums)))
        return _tell_findings(list(with_fold_problems(engine, found.sessions)), found.file)


def _pages(checked: bool) -> str:
    if checked:
        return words("ok; the server checks its pages")
    return words("ok; the server has no checksums of its pages (pg_checksums --enable)")


def _tell_findings(findings: list[SessionFindings], problems: list[str]) -> int:
    for finding in findings:
        print(_line(finding.id, finding.problems, _sound(finding)))
    damaged = sum(bool(finding.problems) for finding in findings)
    what = counted(len(findings), "{count} session", "{count} sessions")
    told = "{sessions}, {count:,} damaged" if damaged else "{sessions}, none damaged"
    print(words(told, sessions=what, count=damaged))
    return 1 if damaged or problems else 0


def _line(name: str, problems: list[str], sound: str) -> str:
    told = sound
    if problems:
        told = words("damaged: {problems}", problems="; ".join(map(translated, problems)))
    return f"{name}  {' '.join(told.split())}"


def _sound(finding: SessionFindings) -> str:
    ticks = counted(finding.ticks, "ok, {count} tick", "ok, {count} ticks")
    if not finding.unsealed:
        return ticks
    return ticks + words(", {count:,} with no checksum", count=finding.unsealed)


def backup(
    db: Annotated[str, typer.Argument(metavar="DB", help="The database.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy, which must not exist.")],
) -> int:
    """Copy a database while sessions run in it; the copy is of one moment, and whole.

    Sessions in PostgreSQL are copied one by one into a database file. For all that servers keep
    besides, and to put it back, PostgreSQL has `pg_dump -Fc -f FILE DB` and `pg_restore`.
    """
    target = Path(file).expanduser().absolute()
    if is_address(db):
        return _backup_server(db, file, target)
    store = SqliteStore(_existing(db))
    try:
        store.backup(target)
    finally:
        store.close()
    size = target.stat().st_size
    print(words("copied {db} to {file}, {size:,} bytes", db=db, file=file, size=size))
    return 0


def _backup_server(url: str, file: str, target: Path) -> int:
    demand_new(target)
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    store = _open_server(url)
    try:
        salvage = asyncio.run(_all_copied(store, part))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    _tell_lost(salvage)
    size = target.stat().st_size
    sessions = counted(salvage.saved, "{count} session", "{count} sessions")
    told = "copied {sessions} of {db} to {file}, {size:,} bytes"
    print(words(told, sessions=sessions, db=store.name, file=file, size=size))
    return 1 if salvage.lost else 0


async def _all_copied(store: PostgresStore, target: Path) -> Salvage:
    async with Engine(store) as engine:
        oldest_first = reversed([row.id for row in all_rows(store)])
        return _copied(engine, [(name, ()) for name in oldest_first], target)


def repair(
    db: Annotated[str, typer.Argument(metavar="DB", help="The damaged database; it is kept.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The new one; must not exist.")],
) -> int:
    """Save every session that is whole into a new database file, and name the rest.

    Ends with 1 if something could not be saved.
    """
    target = Path(file).expanduser().absolute()
    demand_new(target)
    if is_address(db):
        return asyncio.run(_repair(_open_server(db), target))
    path = _existing(db)
    damage = log_damage(path)
    if damage is None:
        return asyncio.run(_repair(SqliteStore(path, salvaging=True), target))
    with TemporaryDirectory(dir=target.parent, prefix=".rondel-repair-") as folder:
        copy = Path(folder) / path.name  # opening a damaged file would change it
        shutil.copyfile(path, copy)
        shutil.copyfile(beside(path), beside(copy))
        lost = ("log", f"what was committed from page {damage.page} on")
        return asyncio.run(_repair(SqliteStore(copy, salvaging=True), target, lost))


async def _repair(store: SqliteStore | PostgresStore, target: Path, *lost: tuple[str, str]) -> int:
    async with Engine(store) as engine:
        findings = list(with_fold_problems(engine, store.verify().sessions))
        salvage = _copied(engine, [(each.id, each.problems) for each in findings], target)
    salvage.lost += lost
    _tell_lost(salvage)
    told = "saved {saved:,} of {sessions:,} sessions to {target}"
    print(words(told, saved=salvage.saved, sessions=len(findings), target=target))
    return 1 if salvage.lost else 0


def _copied(engine: Engine, sessions: Iterable[tuple[str, Sequence[str]]], target: Path) -> Salvage:
    """Copy sessions and all memory to a new file; each session comes with its problems."""
    new = SqliteStore(target)
    try:
        salvage = Salvage(engine.store, new)
        for name, problems in sessions:
            salvage.session(name, problems)
        salvage.memory()
    finally:
        new.close()
    return salvage


def _tell_lost(salvage: Salvage) -> None:
    for what, why in salvage.lost:
        print(f"{what}  " + words("lost: {why}", why=translated(" ".join(why.split()))))


def _existing(db: str) -> Path:
    """The database file of that name."""
    path = Path(db)
    if not path.expanduser().exists():
        raise CallError(f"there is no database {path}")
    return path


def _open_server(url: str) -> PostgresStore:
    """The sessions in PostgreSQL at that address."""
    return cast("PostgresStore", open_store(url, "normal"))
