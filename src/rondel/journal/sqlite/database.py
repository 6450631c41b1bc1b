"""The SQLite file: opening it, bringing it up to date, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from rondel.errors import (
    CallError,
    JournalClosed,
    JournalCorrupt,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalNewer,
    JournalUnwritable,
)
from rondel.journal.sqlite import migrations
from rondel.journal.sqlite.copies import PrivateCopy, may_write
from rondel.journal.sqlite.log_damage import beside, log_damage

APPLICATION = 0x524F4E44
"""Says in the file's header that it is Rondel's ("ROND")."""

SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL", "off": "OFF"}
"""SQLite's setting for each durability."""

PAGE = 1024
"""Bytes in a page of a new file: every commit writes whole pages, and most ticks are short."""

PATIENCE = 10.0
"""Seconds to wait for another process that is writing."""

NAP = 0.002
"""Seconds between two tries."""

T = TypeVar("T")

UNREADABLE = (sqlite3.Error, UnicodeError)
"""The errors for a file that cannot be read; names of damaged tables may be no text."""

_ERRORS: dict[int, tuple[type[JournalError], str]] = {
    sqlite3.SQLITE_FULL: (JournalFull, "the disk is full; free some space and resume the sessions"),
    sqlite3.SQLITE_BUSY: (JournalLocked, "another process keeps it locked; try again"),
    sqlite3.SQLITE_LOCKED: (JournalLocked, "another process keeps it locked; try again"),
    sqlite3.SQLITE_CORRUPT: (JournalCorrupt, "the file is damaged; restore it from a copy"),
    sqlite3.SQLITE_NOTADB: (JournalCorrupt, "the file is not a database; choose another path"),
    sqlite3.SQLITE_READONLY: (JournalUnwritable, "it is read-only; check its permissions"),
    sqlite3.SQLITE_PERM: (JournalUnwritable, "access is denied; check its permissions"),
    sqlite3.SQLITE_CANTOPEN: (
        JournalUnwritable,
        "it cannot be opened; check that its folder exists and can be written",
    ),
    sqlite3.SQLITE_IOERR: (JournalUnwritable, "the device failed"),
}


class Database:
    """One SQLite file in WAL mode, and how to connect to it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        durability: str,
        patience: float = PATIENCE,
        *,
        salvaging: bool = False,
    ) -> None:
        if durability not in SYNCHRONOUS:
            known = ", ".join(SYNCHRONOUS)
            raise CallError(f"durability is {durability!r}; it must be one of {known}")
        self.path = Path(path).expanduser().absolute()
        self.durability = durability
        self.patience = patience
        self._salvaging = salvaging
        """Whether to open it although that loses a part of its log."""
        self._file: tuple[int, int] | None = None
        """The identity of the opened file, in case the path is replaced."""
        self.had_log = False
        """Whether there was a write-ahead log beside the file when it was opened."""
        self.lacks_log = False
        """Whether that log is missing."""
        self._source: Path | None = None
        """The file that is read if this one may not be written: itself, or a copy."""
        self._copy: PrivateCopy | None = None

    def open(self) -> sqlite3.Connection:
        """A connection that may write, to a file that exists and is up to date."""
        self._make_file()
        if not may_write(self.path):
            return self._open_read_only()
        self.had_log = self.log.exists()
        self._demand_whole_log()
        try:
            db = self._connect("rw", timeout=0.0)
            try:
                self._identify(db)
                db.execute(f"PRAGMA page_size = {PAGE}")
                self._use_wal(db)
                db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[self.durability]}")
                db.execute("PRAGMA wal_autocheckpoint = 0")
                self._migrate(db)
                self.lacks_log = not self.had_log and _was_left_open(db)
            except BaseException:
                db.close()
                raise
        except UNREADABLE as error:
            raise self.explain(error) from error
        self._file = self._file_now()
        return db

    def _open_read_only(self) -> sqlite3.Connection:
        """A connection that cannot write; a file that is outdated or has a log is copied first."""
        self._demand_whole_log()
        self._source = self.path
        try:
            db = self._connect("ro", timeout=0.0)
            try:
                self._identify(db)
                (version,) = db.execute("PRAGMA user_version").fetchone()
            except BaseException:
                db.close()
                raise
            if self.log_size() or version < migrations.latest():
                db.close()
                self._copy = PrivateCopy(self.path)
                self._source = self._copy.path
                Database(self._source, self.durability, salvaging=True).open().close()
                db = self._connect("ro", timeout=0.0)
        except UNREADABLE as error:
            raise self.explain(error) from error
        self._file = self._file_now()
        return db

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        return self._file_now() == self._file

    def _file_now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def log(self) -> Path:
        """The write-ahead log beside the file."""
        return beside(self.path)

    def log_size(self) -> int:
        """Bytes of the write-ahead log."""
        try:
            return self.log.stat().st_size
        except OSError:
            return 0

    def reader(self) -> sqlite3.Connection:
        """A connection that only reads."""
        db = self._connect("rw", timeout=self.patience)
        db.execute("PRAGMA query_only = ON")
        return db

    def begin(self, db: sqlite3.Connection) -> None:
        """Start a write transaction, waiting for other processes that are writing."""
        self.patiently(lambda: db.execute("BEGIN IMMEDIATE"))

    def explain(self, error: sqlite3.Error | UnicodeError) -> JournalError:
        """The JournalError for an error of SQLite, in one sentence."""
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, UnicodeError):
            code = sqlite3.SQLITE_CORRUPT
        kind, sentence = _ERRORS.get((code or 0) & 0xFF, (JournalError, ""))
        detail = f"{sentence} ({error})" if sentence else str(error)
        return kind(f"the journal {self.path} cannot be used: {detail}")

    # Opening

    def _make_file(self) -> None:
        """Create an empty file that only this user can read, with its folders, if there is none.

        An existing file must not even be opened here: closing it would drop the locks that other
        connections of this process hold.
        """
        try:
            missing = [folder for folder in self.path.parents if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
            with suppress(FileExistsError):
                os.close(os.open(self.path, flags, 0o600))
            if self.path.is_dir():
                raise IsADirectoryError(None, "it is a folder")
        except OSError as error:
            raise JournalUnwritable(
                f"the journal {self.path} cannot be used: {error.strerror or error}; "
                "choose another path or check its permissions"
            ) from error

    def _demand_whole_log(self) -> None:
        """Raise for a damaged log before SQLite sees it and cuts it off at the damage."""
        damage = None if self._salvaging else log_damage(self.path)
        if damage is not None:
            raise JournalCorrupt(
                f"the journal {self.path} cannot be used: {damage}; rondel repair saves what lies "
                "before it into a new file, and leaves this one as it is"
            )

    def _connect(self, mode: str, timeout: float) -> sqlite3.Connection:
        name = quote(str(self._source or self.path))
        only_read = "mode=ro&immutable=1"
        return sqlite3.connect(
            f"file:{name}?{only_read if self._source else f'mode={mode}'}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def _identify(self, db: sqlite3.Connection) -> None:
        """Raise if the file is not Rondel's or of a newer version, before anything is changed."""
        version, application, tables = self.patiently(lambda: _header(db))
        if version > migrations.latest():
            raise JournalNewer(
                f"the journal {self.path} has schema version {version} and this version of "
                f"Rondel knows up to {migrations.latest()}; a newer version wrote it, use that one"
            )
        if tables and application != APPLICATION:
            raise JournalCorrupt(
                f"the journal {self.path} cannot be used: it is another program's database; "
                "choose another path"
            )

    def _use_wal(self, db: sqlite3.Connection) -> None:
        switch = "PRAGMA journal_mode = WAL"
        (mode,) = self.patiently(lambda: db.execute(switch).fetchone())
        if mode != "wal":
            raise JournalUnwritable(
                f"the journal {self.path} cannot be used: its file system has no shared memory; "
                "choose a path on a local disk"
            )

    def _migrate(self, db: sqlite3.Connection) -> None:
        version, _, _ = self.patiently(lambda: _header(db))
        if version == migrations.latest():
            return
        self.begin(db)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            for number in range(version + 1, migrations.latest() + 1):
                for statement in migrations.statements(number):
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {migrations.latest()}")
            db.execute("COMMIT")
            with suppress(sqlite3.OperationalError):  # other processes write to it already
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except BaseException:
            rollback(db)
            raise

    def patiently(self, call: Callable[[], T]) -> T:
        """Call again and again while another process holds the lock."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return call()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(NAP)


def _header(db: sqlite3.Connection) -> tuple[int, int, int]:
    """The schema version, the application id and the number of tables, read at one moment."""
    db.execute("BEGIN")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    finally:
        rollback(db)
    return version, application, tables


def _was_left_open(db: sqlite3.Connection) -> bool:
    """Whether some process has written to the file and has not closed it."""
    return db.execute("SELECT 1 FROM opening").fetchone() is not None


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process held the lock, so that trying again may help."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_BUSY


def rollback(db: sqlite3.Connection) -> None:
    """Undo the transaction, unless SQLite has done so itself."""
    if db.in_transaction:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")


class Readers:
    """Lends out connections on the caller's thread; reading never waits for writing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file."""
        if self._closed:
            raise JournalClosed(f"the journal {self._database.path} is closed")
        try:
            db = self._idle.pop() if self._idle else self._database.reader()
            try:
                db.execute("BEGIN")
                yield db
            finally:
                rollback(db)
                if self._closed:
                    db.close()
                else:
                    self._idle.append(db)
        except UNREADABLE as error:
            raise self._database.explain(error) from error

    def close(self) -> None:
        """Close the connections; those lent out are closed when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
