"""`rondel gc`: forget sessions that ended long ago, and give their space back."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from rondel.cli.database import open_existing
from rondel.cli.language import counted, words
from rondel.cli.options import Db
from rondel.cli.tables import DAY, moment, print_table
from rondel.engine.core.state import ENDED
from rondel.errors import CallError, WrongState
from rondel.graph.quantities import seconds
from rondel.journal.rules import all_rows
from rondel.journal.store import SessionRow

LONG = re.compile(r"(\d+(?:\.\d+)?)([dw])")
DAYS = {"d": 1, "w": 7}


def gc(
    older_than: Annotated[
        str, typer.Option(metavar="TIME", help="How long ago they ended: 30d, 2w, 12h, 90m.")
    ] = "30d",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
    db: Db = None,
) -> int:
    """Delete sessions that ended longer ago than that, and give their space back to the disk.

    One whose fork stays stays too.
    """
    return asyncio.run(_gc(db, time.time() - parse_age(older_than), dry_run))


def parse_age(text: str) -> float:
    """Seconds of an age such as `30d`."""
    found = LONG.fullmatch(text.strip())
    if found:
        return float(found[1]) * DAYS[found[2]] * DAY
    try:
        return seconds(text)
    except (ValueError, OverflowError):
        raise CallError(f"--older-than {text!r} is no length of time; write 30d, 2w, 12h") from None


async def _gc(db: str | None, before: float, dry_run: bool) -> int:
    async with open_existing(db) as engine:
        doomed = deletable(all_rows(engine.store), before)
        if not dry_run:
            doomed = [row for row in doomed if _delete(engine.store.delete, row)]
            packed = engine.store.pack()
    if doomed:
        lines = [(row.id, row.status, row.graph_id, moment(row.updated_at)) for row in doomed]
        print_table(("ID", "STATUS", "GRAPH", "ENDED"), lines)
    what = counted(len(doomed), "{count} session", "{count} sessions")
    print(words("would delete {what}" if dry_run else "deleted {what}", what=what))
    if not dry_run and not packed:
        told = "others use the database now; the next gc that is alone gives the space back"
        print(words(told))
    return 0


def deletable(sessions: Iterable[SessionRow], before: float) -> list[SessionRow]:
    """The sessions that ended before then and have no fork that stays; forks come first."""
    kept: set[str | None] = set()
    doomed: list[SessionRow] = []
    for row in sessions:  # newest first, so a fork comes before its parent
        if row.status in ENDED and row.updated_at < before and row.id not in kept:
            doomed.append(row)
        else:
            kept.add(row.parent)
    return doomed


def _delete(delete: Callable[[str], None], row: SessionRow) -> bool:
    try:
        delete(row.id)
    except WrongState:  # somebody forked it just now
        return False
    return True
