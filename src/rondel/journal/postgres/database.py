"""The PostgreSQL database: reaching it, bringing it up to date, what its errors mean, its texts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib import resources
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from rondel.errors import (
    CallError,
    JournalError,
    JournalFull,
    JournalNewer,
    JournalUnwritable,
)

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

DURABILITIES = ("full", "normal", "off")

PATIENCE = 60.0
"""Seconds for which a database that is away is tried again."""

OPENING = 2.0
"""Seconds for which one is tried again that has never been reached."""

CONNECTING = 10
"""Seconds that one try may take."""

_NAP = 0.1
_ESCAPED = re.compile(r"\\(\\|0|u[0-9a-f]{4})")
_LOCK = 0x524F4E44
_PORT = "5432"

_VERSION = "SELECT coalesce((SELECT max(version) FROM rondel.migration), 0)"
# Not by to_regclass: after a lock it still tells what was there before.
_KNOWN = """
SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'rondel' AND tablename = 'migration')
"""

_FULL = (errors.DiskFull, errors.OutOfMemory, errors.ProgramLimitExceeded)
_DENIED = (errors.InvalidAuthorizationSpecification, errors.InsufficientPrivilege)
_REFUSED = (*_DENIED, errors.InvalidCatalogName, errors.ReadOnlySqlTransaction)

_CROWDED = ("too many", "connection slots")
_PASSING = (
    *("starting up", "shutting down", "recovery", "yet accepting", "terminating connection"),
    *_CROWDED,
)
"""Of a server that turns somebody away: what may be over soon."""


class PostgresDatabase:
    """One database, and how to connect to it; `off` does not wait for its disk."""

    def __init__(self, url: str, durability: str, patience: float = PATIENCE) -> None:
        if durability not in DURABILITIES:
            known = ", ".join(DURABILITIES)
            raise CallError(f"durability is {durability!r}; it must be one of {known}")
        self._url = url
        self._waits = durability != "off"
        self.patience = patience
        self.name = _name(url)
        self.is_pooled = False
        """Whether another program stands between, such as pgbouncer: a connection is then not one
        with the server, so nothing that a connection remembers there can be counted on."""
        self._is_known = False

    def connect(self) -> Connection:
        """A connection; each statement is a transaction of its own unless one is begun."""
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=CONNECTING,
            application_name="rondel",
        )
        if not self._is_known:
            self.is_pooled = _is_pooled(connection)
            self._is_known = True
        if self.is_pooled:
            connection.prepare_threshold = None
        elif not self._waits:
            connection.execute("SET synchronous_commit = off")
        return connection

    def try_out(self) -> None:
        """Raise what is wrong with the database, if it cannot be reached."""
        self._first().close()

    def open(self) -> Connection:
        """A connection to a database that is up to date."""
        connection = self._first()
        try:
            self._migrate(connection)
        except psycopg.Error as error:
            connection.close()
            raise self.explain(error) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _first(self) -> Connection:
        return self.patiently(self.connect, min(OPENING, self.patience))

    def patiently(self, call: Callable[[], T], patience: float | None = None) -> T:
        """Call, again and again while the database cannot be reached."""
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        while True:
            try:
                return call()
            except psycopg.Error as error:
                if not is_away(error) or time.monotonic() >= deadline:
                    raise self.explain(error) from error
                time.sleep(_NAP)

    def explain(self, error: Exception) -> JournalError:
        """What an error of PostgreSQL means for the journal, in one sentence."""
        detail = " ".join(said_by(error).split())
        kind: type[JournalError] = JournalUnwritable
        if isinstance(error, _FULL):
            kind, what = JournalFull, "it has no room left"
        elif isinstance(error, _REFUSED):
            what = "access is denied; check the address and its user"
        elif _is_turned_away(error):
            what = "the server refuses; check the database's name, the user and the password"
        elif any(word in detail for word in _CROWDED):
            what = "it takes no more connections; end some, or allow it more"
        elif isinstance(error, psycopg.Error) and is_away(error):
            what = "it cannot be reached; check that it runs"
        else:
            kind, what = JournalError, "it failed"
        return kind(f"the journal {self.name} cannot be used: {what} ({detail})")

    def _migrate(self, db: Connection) -> None:
        files = _migrations()
        latest = max(files)
        version = self._version(db)
        if version < latest:
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                version = self._version(db)
                if version == 0:
                    db.execute("CREATE SCHEMA IF NOT EXISTS rondel")
                    db.execute("CREATE TABLE rondel.migration (version integer PRIMARY KEY)")
                for number in range(version + 1, latest + 1):
                    db.execute(files[number].encode())
                    db.execute("INSERT INTO rondel.migration VALUES (%s)", (number,))
        if version > latest:
            raise JournalNewer(
                f"the journal {self.name} has schema version {version} and this version of "
                f"Rondel knows up to {latest}; a newer version wrote it, use that one"
            )

    @staticmethod
    def _version(db: Connection) -> int:
        (known,) = db.execute(_KNOWN).fetchone() or (False,)
        (version,) = (known and db.execute(_VERSION).fetchone()) or (0,)
        return int(version)


def is_away(error: psycopg.Error) -> bool:
    """Whether the database was not there or went away, so that trying again may help."""
    if isinstance(error, _REFUSED) or _is_turned_away(error):
        return False
    if isinstance(error, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return True
    if isinstance(error, psycopg.OperationalError):
        return error.sqlstate is None or error.sqlstate.startswith(("08", "53300"))
    return False


def said_by(error: Exception) -> str:
    """What an error says, without the statement that it is about."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return said or str(error)


def _is_turned_away(error: Exception) -> bool:
    """Whether a server answered and wants no such connection; libpq gives no code for that."""
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate is not None:
        return False
    told = str(error)
    return "FATAL:" in told and not any(word in told for word in _PASSING)


def _is_pooled(connection: Connection) -> bool:
    """Whether the process that answers is not the one that greeted."""
    (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    return connection.info.backend_pid != int(pid)


def _name(url: str) -> str:
    """The database in words, without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        if "query parameter" not in (said := str(error).strip()):
            raise _no_address() from None  # it says what may be the password
        raise CallError(f"this is no address of a PostgreSQL database: {said}") from error
    host, port = parts.get("host") or "localhost", str(parts.get("port") or _PORT)
    if "@" in f"{host}{port}{parts.get('dbname')}" or not re.fullmatch(r"[\d,]*", port):
        raise _no_address()
    at = host if port == _PORT else f"{host}:{port}"
    return f"postgresql://{at}/{parts.get('dbname') or ''}"


def _no_address() -> CallError:
    return CallError(
        "this is no address of a PostgreSQL database; one is written "
        "postgresql://USER:PASSWORD@HOST:PORT/NAME, with %40 for @, %2F for / and %25 for % in the "
        "user and the password"
    )


def _migrations() -> dict[int, str]:
    folder = resources.files(__package__) / "migrations"
    return {
        int(entry.name.split("_", 1)[0]): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }


# Texts: PostgreSQL has no NUL and no half of a character


def stored(text: str) -> str:
    """The text without what PostgreSQL refuses; different texts stay different."""
    if "\\" in text or "\0" in text:
        text = text.replace("\\", "\\\\").replace("\0", "\\0")
    return text.encode("utf-8", "backslashreplace").decode()


def told(text: str) -> str:
    """The text that was stored."""
    return _ESCAPED.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    what = found[1]
    if what == "\\":
        return what
    return "\0" if what == "0" else chr(int(what[1:], 16))
