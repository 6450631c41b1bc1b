"""A file that may not be written is read all the same, and stays as it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rondel import Engine, Graph
from rondel.errors import JournalUnwritable
from rondel.journal.sqlite.store import SqliteStore
from tests.e2e import graphs
from tests.unit.journal.make_fixture import restore
from tests.unit.journal.test_fixtures import FIXTURES, VERSIONS


@pytest.fixture
def _nobody_may_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As for a user who only reads; the tests may run as root, who writes everything."""
    monkeypatch.setattr(
        "rondel.journal.sqlite.database.may_write", lambda file: not file.is_relative_to(tmp_path)
    )


async def filled(path: Path) -> str:
    async with Engine(path) as engine:
        asked = await engine.start(Graph.loads(graphs.HUMAN), "write")
        await asked.settled()
        return asked.id


async def test_it_is_read_where_it_is(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "rondel.db"
    id = await filled(path)
    content = path.read_bytes()
    request.getfixturevalue("_nobody_may_write")
    async with Engine(path) as engine:
        assert [row.id for row in engine.sessions().rows] == [id]
        assert engine.get(id).asking
        with pytest.raises(JournalUnwritable, match="read-only"):
            await engine.get(id).answer("approve")
        with pytest.raises(JournalUnwritable, match="read-only"):
            await engine.start(Graph.loads(graphs.LOOP), "more")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["rondel.db"]


@pytest.mark.usefixtures("_nobody_may_write")
@pytest.mark.parametrize("version", VERSIONS)
def test_one_of_an_earlier_version_is_read_as_a_copy(version: str, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    restore((FIXTURES / version / "history.sql").read_text("utf-8"), path)
    content = path.read_bytes()
    store = SqliteStore(path)
    copy = store._database._source
    assert store.sessions().rows
    assert not any(verdict.problems for verdict in store.verify().sessions)
    store.close()
    assert path.read_bytes() == content
    del store
    assert copy is not None
    assert copy == path or not copy.exists()


async def test_what_is_only_in_the_log_is_read_too(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path, left = tmp_path / "rondel.db", tmp_path / "left.db"
    async with Engine(path) as engine:
        session = await engine.start(Graph.loads(graphs.HUMAN), "write")
        await session.settled()
        for end in ("", "-wal"):
            shutil.copyfile(f"{path}{end}", f"{left}{end}")
    request.getfixturevalue("_nobody_may_write")
    async with Engine(left) as engine:
        assert engine.get(session.id).status == "waiting"
