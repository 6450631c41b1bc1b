"""`rondel repair`: a new database with every session of a damaged one that is whole."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from rondel.cli.language import translated, words
from rondel.cli.options import Debug
from rondel.cli.verify import existing, open_server
from rondel.journal.sqlite.backup import demand_new
from rondel.journal.sqlite.log_damage import beside, log_damage
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.engine import Engine
from rondel.sessions.salvage import Salvage, whole_verdicts
from rondel.sessions.stores import is_address

if TYPE_CHECKING:
    from rondel.journal.postgres.store import PostgresStore


def repair(
    db: Annotated[str, typer.Argument(metavar="DB", help="The damaged database; it is kept.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The new one; must not exist.")],
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Save every session that is whole into a new database file, and name the rest.

    Ends with 1 if something could not be saved.
    """
    target = Path(file).expanduser().absolute()
    demand_new(target)
    if is_address(db):
        return asyncio.run(_repair_server(db, target))
    return asyncio.run(_repair(existing(db), target))


async def _repair_server(url: str, target: Path) -> int:
    return _told(*await _save(open_server(url), target), target)


async def _repair(path: Path, target: Path) -> int:
    damage = log_damage(path)
    if damage is None:
        return _told(*await _save(SqliteStore(path, salvaging=True), target), target)
    with TemporaryDirectory(dir=target.parent, prefix=".rondel-repair-") as folder:
        copy = SqliteStore(_copied(path, Path(folder)), salvaging=True)
        salvage, sessions = await _save(copy, target)
    salvage.lost.append(("log", f"what was committed from page {damage.page} on"))
    return _told(salvage, sessions, target)


def _copied(path: Path, folder: Path) -> Path:
    """A copy to read, since opening a damaged file would change it."""
    copy = folder / path.name
    shutil.copyfile(path, copy)
    shutil.copyfile(beside(path), beside(copy))
    return copy


async def _save(store: SqliteStore | PostgresStore, target: Path) -> tuple[Salvage, int]:
    """Copy all that is whole; also how many sessions there are."""
    async with Engine(store) as engine:
        verdicts = list(whole_verdicts(engine, store.verify().sessions))
        new = SqliteStore(target)
        try:
            salvage = Salvage(store, new)
            for verdict in verdicts:
                salvage.session(verdict.id, verdict.problems)
            salvage.memory()
        finally:
            new.close()
    return salvage, len(verdicts)


def tell_lost(salvage: Salvage) -> None:
    """A line for each session that could not be copied."""
    for what, why in salvage.lost:
        print(f"{what}  " + words("lost: {why}", why=translated(" ".join(why.split()))))


def _told(salvage: Salvage, sessions: int, target: Path) -> int:
    tell_lost(salvage)
    told = "saved {saved:,} of {sessions:,} sessions to {target}"
    print(words(told, saved=salvage.saved, sessions=sessions, target=target))
    return 1 if salvage.lost else 0
