"""`rondel verify`, `backup` and `repair` on PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from rondel import Engine, Graph
from rondel.cli import main
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Group, MemoryEntry, Promotion
from tests.e2e import graphs
from tests.e2e.command import ROOT

EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"


@pytest.fixture
def session(database: str) -> str:
    """A session that has ended."""

    async def run() -> str:
        async with Engine(database) as engine:
            return (await engine.run(EXAMPLE, "a poem")).session_id

    return asyncio.run(run())


def verified(database: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    return main(["verify", database]), capsys.readouterr().out


def test_a_database_that_is_whole(
    database: str, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = verified(database, capsys)
    assert code == 0
    assert told.startswith("database  ok; the server ")
    assert f"{session}  ok, " in told
    assert told.endswith("1 session, none damaged\n")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM rondel.tick WHERE n = 2", "ticks"),
        ("UPDATE rondel.tick SET n = 1000 WHERE n = 3", "ticks"),
        ("UPDATE rondel.tick SET record = '\\x00' WHERE n = 2", "does not fold"),
        ("UPDATE rondel.head SET length = length + 1", "ticks"),
        ("UPDATE rondel.head SET session = -1", "a head has no session"),
        ("UPDATE rondel.session SET inputs = '\\x7b'", "its row is damaged"),
        ("UPDATE rondel.graph SET includes = '{\"a\": 1}'", "does not fit its checksum"),
        ("INSERT INTO rondel.tick VALUES (-1, 0, '')", "a tick has no session"),
    ],
)
@pytest.mark.usefixtures("session")
def test_what_is_damaged_is_told(
    database: str, damage: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(damage.encode())
    code, found = verified(database, capsys)
    assert code == 1
    assert told in found


def kept(db: str | Path) -> dict[str, tuple[str, int]]:
    """What state each session of a database is in, and how many ticks it has."""

    async def look() -> dict[str, tuple[str, int]]:
        async with Engine(db) as engine:
            return {row.id: (row.status, row.length) for row in engine.sessions().rows}

    return asyncio.run(look())


@pytest.fixture
def several(database: str, session: str, tmp_path: Path) -> str:
    """Besides the session that ended: one that waits with an attachment and a letter, a fork of it,
    and something remembered."""
    file = tmp_path / "hello.txt"
    file.write_text("hello")

    async def run() -> str:
        async with Engine(database) as engine:
            attached = await engine.attach(file)
            inputs = {"task": "a poem", "attachments": [attached]}
            asked = await engine.start(Graph.loads(graphs.HUMAN), inputs)
            await asked.settled()
            forked = await engine.fork(asked, "Editor", {}, run=False)
            engine.store.post(forked.id, b'{"t": "pause"}')
            entry = MemoryEntry(Group("g"), session, "Writer", 0, "Writer", "remembered", {})
            engine.store.remember(Promotion(Group("g"), session, "Writer", [entry]), 0.0, 50)
            return asked.id

    return asyncio.run(run())


@pytest.mark.parametrize("verb", ["backup", "repair"])
def test_all_sessions_are_copied_into_a_file_and_go_on_there(
    verb: str, database: str, several: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert main([verb, database, str(copy)]) == 0
    assert " 3 " in capsys.readouterr().out
    assert kept(copy) == kept(database)
    assert main(["verify", str(copy)]) == 0
    assert main(["answer", several, "approve", "--db", str(copy)]) == 0
    store = SqliteStore(copy)
    assert [entry.content for entry in store.recall(Group("g"), 0.0, 9)] == ["remembered"]
    (digest,) = store.attachments(several)
    assert store.attachment(digest) == b"hello"
    assert len(store.pending()) == 1
    store.close()


def test_a_copy_tells_no_password_and_replaces_nothing(
    database: str, session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert session
    copy = tmp_path / "copy.db"
    address = database.replace("rondel@", "rondel:geheim@")
    assert main(["backup", address, str(copy)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("copied 1 session of postgresql://")
    assert "geheim" not in told
    for verb in ("backup", "repair"):
        assert main([verb, address, str(copy)]) == 2
        assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


@pytest.mark.parametrize("verb", ["backup", "repair"])
def test_a_session_that_is_damaged_is_named_and_the_others_are_copied(
    verb: str, database: str, several: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert several
    with psycopg.connect(database, autocommit=True) as db:
        first = "(SELECT min(key) FROM rondel.session)"
        db.execute(f"DELETE FROM rondel.tick WHERE n = 2 AND session = {first}".encode())
    copy = tmp_path / "copy.db"
    assert main([verb, database, str(copy)]) == 1
    told = capsys.readouterr().out
    assert "  lost: " in told.splitlines()[0]
    assert " 2 " in told.splitlines()[-1]
    assert len(kept(copy)) == 2


def test_gc_puts_nothing_off(
    database: str, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert session
    assert main(["gc", "--older-than", "0s", "--db", database]) == 0
    assert capsys.readouterr().out.endswith("deleted 1 session\n")
