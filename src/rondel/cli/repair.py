"""`rondel repair`: a new database with every session of a damaged one that is whole."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from rondel.cli.language import translated, words
from rondel.cli.options import Debug
from rondel.cli.verify import existing
from rondel.journal.sqlite.backup import demand_new
from rondel.journal.sqlite.log_damage import beside, log_damage
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.engine import Engine
from rondel.sessions.salvage import Salvage, whole_verdicts


def repair(
    db: Annotated[str, typer.Argument(metavar="DB", help="The damaged database; it is kept.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The new one; must not exist.")],
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Save every session that is whole into a new database, and name the rest.

    Ends with 1 if something could not be saved.
    """
    return asyncio.run(_repair(existing(db), Path(file).expanduser().absolute()))


async def _repair(path: Path, target: Path) -> int:
    demand_new(target)
    damage = log_damage(path)
    if damage is None:
        return _told(*await _save(path, target), target)
    with TemporaryDirectory(dir=target.parent, prefix=".rondel-repair-") as folder:
        salvage, sessions = await _save(_copied(path, Path(folder)), target)
    salvage.lost.append(("log", f"what was committed from page {damage.page} on"))
    return _told(salvage, sessions, target)


def _copied(path: Path, folder: Path) -> Path:
    """A copy to read, since opening a damaged file would change it."""
    copy = folder / path.name
    shutil.copyfile(path, copy)
    shutil.copyfile(beside(path), beside(copy))
    return copy


async def _save(path: Path, target: Path) -> tuple[Salvage, int]:
    """Copy all that is whole; also how many sessions there are."""
    store = SqliteStore(path, salvaging=True)
    async with Engine(store) as engine:
        verdicts = list(whole_verdicts(engine, store.verify().sessions))
        new = SqliteStore(target)
        try:
            salvage = Salvage(store, new)
            for verdict in verdicts:
                salvage.session(verdict)
            salvage.memory()
        finally:
            new.close()
    return salvage, len(verdicts)


def _told(salvage: Salvage, sessions: int, target: Path) -> int:
    for what, why in salvage.lost:
        print(f"{what}  " + words("lost: {why}", why=translated(" ".join(why.split()))))
    told = "saved {saved:,} of {sessions:,} sessions to {target}"
    print(words(told, saved=salvage.saved, sessions=sessions, target=target))
    return 1 if salvage.lost else 0
