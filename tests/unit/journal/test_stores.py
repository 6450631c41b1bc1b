"""Every store passes the conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondel.journal.memory import MemoryStore
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Store
from rondel.testing.journal_suite import JournalSuite
from rondel.testing.shared_journal_suite import SharedJournalSuite


class TestMemory(JournalSuite):
    def open_store(self) -> Store:
        return MemoryStore()


class _Sqlite(SharedJournalSuite):
    durability = "normal"

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "new" / "folder" / "journal.db"

    def open_store(self) -> Store:
        return SqliteStore(self.path, self.durability)


class TestSqliteNormal(_Sqlite):
    pass


class TestSqliteFull(_Sqlite):
    durability = "full"


class TestSqliteOff(_Sqlite):
    durability = "off"


class TestSqliteInItsThread(_Sqlite):
    """As on a disk where every commit is slow: all goes through the writer thread."""

    @pytest.fixture(autouse=True)
    def _slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rondel.journal.sqlite.writer.SLOW", 0.0)
