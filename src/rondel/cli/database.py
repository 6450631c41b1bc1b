"""Finds the database and the session that a command works on."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rondel.cli.failures import complain
from rondel.cli.language import words
from rondel.errors import CallError, UnknownSession
from rondel.graph.names import Names
from rondel.graph.source import path_text
from rondel.graph.spec import FAILED
from rondel.journal.rules import all_rows
from rondel.sessions.engine import Engine
from rondel.sessions.labels import CODE
from rondel.sessions.permissions import RUNS_COMMANDS, RUNS_PYTHON
from rondel.sessions.records import Result
from rondel.sessions.session import Session
from rondel.sessions.stores import default_database

MEMORY = ":memory:"
MISSING_LOG = (
    "its write-ahead log (-wal) is missing: it was left open and then copied or moved without it; "
    "what was written last may not be there"
)
SHORTEST = 4
"""The least characters of an id that name a session, if no other id begins with them."""

CONTRACT_FAILED = "contract_failed"
"""The reason of a session that failed because the `until` of a loop raised."""

COMPARED = 10_000

_PASSWORD = re.compile(r"(?<=://)([^:@]*:).*(?=@)|([?&](?:ssl)?password=)[^&]*")


def open_existing(
    db: str | None,
    allow_python: bool = False,
    allow_commands: bool = False,
    strict_code: bool = False,
) -> Engine:
    """The engine of an existing database; the user's default one may be missing and counts as
    empty."""
    named = database_of(db)
    if named is None:
        raise CallError(f"sessions in {MEMORY} end with their process; name a file with --db")
    if "://" not in str(named) and not Path(named).expanduser().exists():
        if db is not None:
            raise CallError(f"there is no database {db}")
        named = None
    engine = Engine(
        named, allow_python=allow_python, allow_commands=allow_commands, strict_code=strict_code
    )
    if getattr(engine.store, "lacks_log", False):
        complain(f"the database {named or default_database()}: {MISSING_LOG}", "warning")
    return engine


def database_of(db: str | None) -> str | None:
    """The `--db` of a command as an engine takes it."""
    name = db or default_database()
    return None if name == MEMORY else name


def shown(db: str) -> str:
    """The file or address as it may be printed: without a password."""
    return _PASSWORD.sub(r"\1\2***", db) if "://" in db else db


def find(engine: Engine, text: str) -> Session:
    """The session with this id, or with the only id that begins with this text."""
    with suppress(UnknownSession):
        return engine.get(text)
    ids = [row.id for row in all_rows(engine.store)]
    begun = [known for known in ids if len(text) >= SHORTEST and known.startswith(text)]
    if len(begun) == 1:
        return engine.get(begun[0])
    if begun:
        some = " and ".join(begun[:2]) if len(begun) == 2 else f"{begun[0]}, {begun[1]} ..."
        raise CallError(f"{text!r} begins {len(begun)} ids: {some}; give more of it")
    hint = Names(ids[:COMPARED]).hint(text)
    if not hint.startswith("did you mean"):
        hint = "rondel sessions lists them" if ids else "there is none yet"
    raise UnknownSession(f"there is no session {text!r}; {hint}")


@dataclass(frozen=True, slots=True)
class NextCommands:
    """The commands that go on with a session, ready to be typed."""

    session: str
    db: str | None
    is_python: bool = False
    runs_python: bool = False
    runs_commands: bool = False

    def answer(self, node: str | None = None) -> str:
        """The command to answer its question."""
        return self._command("answer", "TEXT", *(("--node", node) if node else ()), *self._needs())

    def resume(self) -> str:
        """The command to go on."""
        file = ["FILE.py"] if self.is_python else []
        return self._command("resume", *file, *self._leave())

    def after_failure(self, result: Result) -> str:
        """A sentence that says how to go on after a failure."""
        if result.reason != CONTRACT_FAILED:
            return words("run that step again with: {command}", command=self.resume())
        # The session keeps its graph, and the same `until` would fail again.
        failed = [loop.loop for loop in result.loops if loop.exit_reason == FAILED]
        head = failed[0] if len(failed) == 1 and "/" not in failed[0] else "HEAD"
        change = f"{path_text(('loops', head, 'until'))}=EXPRESSION"
        file = ["FILE.py"] if self.is_python else []
        command = self._command("fork", *file, "--set", change, *self._leave())
        return words("correct the loop's `until` and go on with: {command}", command=command)

    def unlock(self) -> str:
        """The command to open its lock."""
        return self._command("unlock", "--because", "TEXT", *self._needs())

    def stop(self) -> str:
        """The command to end it."""
        return self._command("stop")

    def follow(self) -> str:
        """The command to watch it."""
        return self._command("watch")

    def _needs(self) -> list[str]:
        file = ["--graph", "FILE.py"] if self.is_python else []
        return [*file, *self._leave()]

    def _leave(self) -> list[str]:
        python = ["--allow-python"] if self.runs_python else []
        return [*python, "--allow-commands"] if self.runs_commands else python

    def _command(self, verb: str, *rest: str) -> str:
        where = ["--db", shown(self.db)] if self.db is not None else []
        return shlex.join(["rondel", verb, self.session, *rest, *where])


def next_commands(session: Session, db: str | None) -> NextCommands:
    """How to go on with a session of that database."""
    where = None if os.environ.get("RONDEL_DB") == db else db
    labels = session.origin.labels
    needs_file = is_python(session) or bool(labels.get(CODE))
    runs = bool(labels.get(RUNS_PYTHON)), bool(labels.get(RUNS_COMMANDS))
    return NextCommands(session.id, where, needs_file, *runs)


def is_python(session: Session) -> bool:
    """Whether its graph is written in Python and must be handed over to go on."""
    return bool(session.origin.labels.get("python"))
