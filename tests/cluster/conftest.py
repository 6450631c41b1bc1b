"""A database whose queue is empty."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pytest


@pytest.fixture
def queue_database(database: str) -> str:
    """The address of a database without sessions and without jobs."""
    with psycopg.connect(database, autocommit=True) as db, suppress(psycopg.errors.UndefinedTable):
        db.execute("DELETE FROM procrastinate_jobs; DELETE FROM procrastinate_workers")
    return database
