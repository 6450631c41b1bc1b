"""`rondel repair`: a new database with every session of a damaged one that is whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.options import Debug
from rondel.cli.verify import existing
from rondel.journal.backup import demand_new
from rondel.journal.sqlite import SqliteStore
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
    store = SqliteStore(path)
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
    for what, why in salvage.lost:
        print(f"{what}  lost: {' '.join(why.split())}")
    print(f"saved {salvage.saved:,} of {len(verdicts):,} sessions to {target}")
    return 1 if salvage.lost else 0
