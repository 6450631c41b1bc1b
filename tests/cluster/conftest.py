"""A database whose queue is empty, and a file for marks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psycopg
import pytest


@pytest.fixture
def queue_database(database: str) -> str:
    """The address of a database without sessions and without jobs."""
    with psycopg.connect(database, autocommit=True) as db, suppress(psycopg.errors.UndefinedTable):
        db.execute("DELETE FROM procrastinate_jobs; DELETE FROM procrastinate_workers")
    return database


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """The file in which nodes leave a mark each time they run."""
    return tmp_path / "marks"
