"""The store in PostgreSQL."""

from __future__ import annotations

import pytest

from rondel.journal.postgres.store import PostgresStore
from rondel.testing.shared_journal_suite import SharedJournalSuite


class TestPostgresStore(SharedJournalSuite):
    """Nothing is particular to it."""

    @pytest.fixture(autouse=True)
    def place(self, database: str) -> None:
        self.database = database

    def open_store(self) -> PostgresStore:
        return PostgresStore(self.database)
