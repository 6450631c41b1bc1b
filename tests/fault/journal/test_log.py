"""The write-ahead log stays short, also while somebody always reads or writes it."""

from __future__ import annotations

from pathlib import Path

from rondel.journal.sqlite.database import PAGE
from tests.fault.journal.two_writers import watch

LIMIT = 200
SETUP = f"import rondel.journal.sqlite.log as log\nlog.CHECKPOINT = {LIMIT}"


def test_two_writers_leave_the_log_short(tmp_path: Path) -> None:
    seen = watch(tmp_path / "journal.db", 6.0, 3000.0, SETUP)
    assert seen.file > 20 * LIMIT * PAGE
    assert seen.longest_log < 10 * LIMIT * PAGE
