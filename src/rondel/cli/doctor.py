"""`rondel doctor`: what is installed, reachable and writable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rondel.cli.cells import wide
from rondel.cli.language import translated, words
from rondel.cli.options import AsDocument, Db
from rondel.cli.screen import visible
from rondel.cli.tables import document
from rondel.errors import RondelError

LIBRARIES = ("fastapi", "mcp", "msgspec", "pydantic", "pydantic-ai-slim", "uvicorn")
LOW = 200 * 1024 * 1024
"""Free space below this many bytes is a warning."""


class Finding(msgspec.Struct):
    """The result of one check."""

    name: str
    ok: bool
    note: str
    needed: bool = True
    """Whether Rondel cannot do without it."""


def doctor(
    graphs: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of stored graphs.")
    ] = "graphs",
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """Look at what Rondel needs: Python, libraries, database, folder, pages, keys.

    Exit codes: 0 all that is needed is there, 1 it is not.
    """
    found = list(_findings(db, graphs))
    if as_json:
        print(document(found))
    else:
        for finding in found:
            mark = words("ok") if finding.ok else words("MISSING") if finding.needed else "-"
            print(f"{wide(mark, 8)}{finding.name:18}{visible(translated(finding.note))}")
    return 0 if all(finding.ok for finding in found if finding.needed) else 1


def _findings(db: str | None, graphs: str) -> Iterator[Finding]:
    yield Finding("python", sys.version_info >= (3, 11), sys.version.split()[0])
    yield Finding("rondel", True, f"{version('rondel')}, {how_built()}")
    for name in LIBRARIES:
        try:
            yield Finding(name, True, version(name))
        except PackageNotFoundError:
            yield Finding(name, False, "not installed")
    yield _database(db)
    folder = Path(graphs)
    if folder.is_dir():
        yield Finding("graphs", os.access(folder, os.W_OK), f"{folder}", needed=False)
    else:
        yield Finding("graphs", False, f"there is no folder {folder}", needed=False)
    yield _pages()
    yield from _providers()


def _providers() -> Iterator[Finding]:
    """The keys that are set, and what the clouds' models need."""
    from rondel.models.real import PROVIDERS

    known = dict.fromkeys(key for real in PROVIDERS for key in real.keys)
    keys = [key for key in known if os.environ.get(key)]
    note = ", ".join(keys) or "no key of a provider is set; simulated and scripted models need none"
    yield Finding("keys", bool(keys), note, needed=False)
    for real in PROVIDERS:
        if real.extra:
            there = find_spec(real.package) is not None
            note = "installed" if there else f"not installed: pip install 'rondel[{real.extra}]'"
            yield Finding(real.name, there, note, needed=False)


def how_built() -> str:
    """Whether the engine runs compiled here."""
    from rondel.engine.core import fold

    return "plain Python" if str(fold.__file__).endswith(".py") else "compiled"


def _database(db: str | None) -> Finding:
    from rondel.cli.database import database_of, shown
    from rondel.sessions.stores import open_store

    named = database_of(db)
    told = shown(f"{named}")
    try:
        store = open_store(named, "normal")
        try:
            sessions = len(store.sessions(limit=1).rows)
        finally:
            store.close()
    except (RondelError, OSError) as error:
        return Finding("database", False, f"{told}: {error}")
    if named is None or "://" in named:
        return Finding("database", True, told)
    free = shutil.disk_usage(Path(named).parent).free
    note = f"{named}, {'has' if sessions else 'no'} sessions, {free / 2**30:.1f} GiB free"
    return Finding("database", free > LOW, note)


def _pages() -> Finding:
    import rondel

    built = (Path(rondel.__file__).parent / "server" / "pages" / "index.html").is_file()
    return Finding("pages", built, "built" if built else "not built: make web", needed=False)
