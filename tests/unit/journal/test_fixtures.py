"""Journals of every earlier version open, tell what they told, and go on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from rondel.errors import JournalError
from rondel.journal.codec import decode, encode
from rondel.journal.sqlite import migrations
from rondel.journal.sqlite.store import SqliteStore
from rondel.testing.journal_suite import tick
from rondel.testing.memory_suite import promotion
from tests.unit.journal.make_fixture import TICKS, contents, restore

FIXTURES = Path(__file__).parents[2] / "fixtures" / "journals"
VERSIONS = sorted(folder.name for folder in FIXTURES.iterdir() if folder.is_dir())


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest) -> Path:
    return FIXTURES / str(request.param)


def test_every_schema_version_has_a_fixture() -> None:
    assert [f"v{n}" for n in range(1, migrations.latest() + 1)] == VERSIONS


def test_an_earlier_journal_tells_what_it_told(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    restore((folder / "journal.sql").read_text("utf-8"), path)
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert contents(path) == expected


def test_an_earlier_journal_goes_on(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    restore((folder / "journal.sql").read_text("utf-8"), path)
    store = SqliteStore(path)
    length = len(store.read("fork", 0))
    assert store.acquire("fork", "me", 60).granted
    store.append("fork", tick(length))
    assert store.read("fork", length) == [tick(length)]
    store.close()


def test_a_journal_from_before_working_memory_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    restore((FIXTURES / "v1" / "journal.sql").read_text("utf-8"), path)
    store = SqliteStore(path)
    assert store.groups() == []
    assert [entry.content for entry in store.remember(promotion("a", "x"), 0.0, 50)] == ["x"]
    store.close()


def test_records_are_still_written_as_they_were(tmp_path: Path) -> None:
    """Replay is byte for byte: what the fixture's ticks are encoded to must not change."""
    path = tmp_path / "journal.db"
    restore((FIXTURES / "v1" / "journal.sql").read_text("utf-8"), path)
    db = sqlite3.connect(path)
    stored = db.execute("SELECT record FROM tick ORDER BY seq LIMIT ?", (len(TICKS),)).fetchall()
    db.close()
    assert [record for (record,) in stored] == [encode(tick) for tick in TICKS]
    assert [decode(record) for (record,) in stored] == TICKS


def test_an_older_file_is_migrated_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    restore((FIXTURES / "v1" / "journal.sql").read_text("utf-8"), path)
    before = contents(path)
    known, newer = migrations.statements, migrations.latest() + 1
    monkeypatch.setattr(migrations, "latest", lambda: newer)
    monkeypatch.setattr(
        migrations,
        "statements",
        lambda n: known(n) if n < newer else ["ALTER TABLE letter ADD COLUMN colour TEXT"],
    )
    assert contents(path) == before
    store = SqliteStore(path)
    assert store._writer._db.execute("PRAGMA user_version").fetchone() == (newer,)
    assert "colour" in str(store._writer._db.execute("SELECT sql FROM sqlite_master").fetchall())
    store.close()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    restore((FIXTURES / "v1" / "journal.sql").read_text("utf-8"), path)
    before, newer = contents(path), migrations.latest() + 1
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "latest", lambda: newer)
        patch.setattr(
            migrations,
            "statements",
            lambda _: ["ALTER TABLE letter ADD COLUMN colour TEXT", "NONSENSE"],
        )
        with pytest.raises(JournalError, match="NONSENSE"):
            SqliteStore(path)
    assert contents(path) == before
