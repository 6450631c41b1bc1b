"""`rondel export`, `rondel import`: sessions in files, and graphs of other systems."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.database import MEMORY, database_of, find, open_existing
from rondel.cli.language import words
from rondel.cli.options import Db, Functions, Id
from rondel.cli.translations import STDOUT, export_graph, import_graph
from rondel.errors import CallError
from rondel.journal.attachments import HELD
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Store, finish
from rondel.sessions.archive import Archived, read_session, with_id, write_session
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session


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
            write_session(engine.store, session.row, sys.stdout.buffer)
            return 0
        ticks = _to_file(engine, session, Path(output), force)
    told = "wrote {file}: session {id}, {ticks:,} ticks"
    print(words(told, file=output, id=session.id, ticks=ticks))
    return 0


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


def import_(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="What `rondel export` wrote; with --from, a graph."),
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="chatdev|council", help="Translate a graph of that system."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--to", metavar="chatdev|council", help="Translate a graph into that format."),
    ] = None,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="For the graph. Default: prints it."),
    ] = STDOUT,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    functions: Functions = None,  # noqa: ARG001
    db: Db = None,
) -> int:
    """Add a session from a file, or translate a graph.

    A session keeps its id unless that is taken; nothing is overwritten.

    With --from, the graph of another system is written as YAML that behaves the same, and what
    changed or was left out is told on standard error. With --to it is the other way round: the
    file comes back the same, and what the other system will not see in it is told.
    """
    if source is not None and target is not None:
        raise CallError("--from and --to go different ways; use one of them")
    if source is not None:
        return import_graph(file, source, output, force=force)
    if target is not None:
        return export_graph(file, target, output, force=force)
    try:
        with Path(file).open("rb") as lines:
            archived = read_session(file, lines)
    except OSError as error:
        raise CallError(f"{file} cannot be read: {error.strerror or error}") from error
    return asyncio.run(_import(db, archived))


async def _import(db: str | None, archived: Archived) -> int:
    async with Engine(database_of(db)) as engine:
        store = engine.store
        if isinstance(store, MemoryStore):
            raise CallError(f"sessions in {MEMORY} end with their process; name a file with --db")
        given = archived.row.id
        if store.session(given) is not None:
            archived = with_id(archived, secrets.token_hex(8))
        await _add(store, archived)
    new = archived.row.id
    told = "session {id} is {status}, with {ticks:,} ticks"
    print(
        words(told, id=new, status=archived.status, ticks=len(archived.ticks))
        + (words("; the id {id} was taken", id=given) if new != given else "")
    )
    return 0


async def _add(store: Store, archived: Archived) -> None:
    """Add the whole session, or nothing."""
    name = archived.row.id
    await finish(store.create(archived.row))
    try:
        for content in archived.attachments:
            store.hold(content, store.now() + HELD)
            store.refer(name, [sha256(content).hexdigest()])
        store.extend(name, archived.ticks)
        await finish(store.set_status(name, archived.status, archived.reason, archived.due))
    except BaseException:
        store.delete(name)
        raise
