"""`rondel export`: one session as a file, whole."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from rondel.cli.database import find, open_existing
from rondel.cli.language import words
from rondel.cli.options import Db, Id
from rondel.errors import CallError
from rondel.sessions.archive import write_session
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session

STDOUT = "-"


def export(
    session: Id,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Default: prints it.")
    ] = STDOUT,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    db: Db = None,
) -> int:
    """Write a session to a file that `rondel import` reads: JSON lines, the session and its ticks.

    A fork is exported with the past it shares. Keep the file as private as the session.
    """
    return asyncio.run(_export(db, session, output, force))


async def _export(db: str | None, id: str, output: str, force: bool) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        if output == STDOUT:
            sys.stdout.flush()
            write_session(engine.store, session.row, _standard_output())
            return 0
        ticks = _to_file(engine, session, Path(output), force)
    told = "wrote {file}: session {id}, {ticks:,} ticks"
    print(words(told, file=output, id=session.id, ticks=ticks))
    return 0


def _standard_output() -> BinaryIO:
    return sys.stdout.buffer


def _to_file(engine: Engine, session: Session, file: Path, force: bool) -> int:
    """All of it or nothing: the file gets its name once it is written."""
    if file.exists() and not force:
        raise CallError(f"{file} exists already; use --force to overwrite it, or another -o FILE")
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            ticks = write_session(engine.store, session.row, stream)
        part.replace(file)
    except OSError as error:
        raise CallError(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return ticks
