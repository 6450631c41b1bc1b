"""`rondel backup`: a copy of a database that may be in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.language import words
from rondel.cli.options import Debug
from rondel.cli.verify import existing
from rondel.journal.sqlite.store import SqliteStore


def backup(
    db: Annotated[str, typer.Argument(metavar="DB", help="The database.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy, which must not exist.")],
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Copy a database while sessions run in it; the copy is of one moment, and whole."""
    store = SqliteStore(existing(db))
    target = Path(file).expanduser().absolute()
    try:
        store.backup(target)
    finally:
        store.close()
    size = target.stat().st_size
    print(words("copied {db} to {file}, {size:,} bytes", db=db, file=file, size=size))
    return 0
