"""`rondel verify` on PostgreSQL: what is whole is told so, and what is not is named."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from rondel import Engine
from rondel.cli import main
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


@pytest.mark.parametrize("verb", ["backup", "repair"])
def test_what_is_for_files_says_what_to_use_instead(
    verb: str, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, database, "copy.db"]) == 2
    assert "that is for database files; PostgreSQL has pg_dump" in capsys.readouterr().err
