"""Which database, which session, and the commands that go on with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondel.cli.database import NextCommands, find, open_existing, shown
from rondel.errors import CallError, UnknownSession
from rondel.journal.store import SessionRow
from rondel.sessions.engine import Engine

IDS = ["aaaa000000000001", "aaaa000000000002", "bbbb000000000001"]


@pytest.fixture
def engine() -> Engine:
    engine = Engine(db=None)
    for id in IDS:
        engine.store.create(SessionRow(id, "g", {"graph": {"id": "g", "nodes": []}}))
    return engine


def test_a_session_is_found_by_its_id_or_a_beginning_that_no_other_has(engine: Engine) -> None:
    assert find(engine, IDS[0]).id == IDS[0]
    assert find(engine, "bbbb").id == IDS[2]
    with pytest.raises(CallError, match=f"'aaaa' begins 2 ids: {IDS[1]} and {IDS[0]}; give more"):
        find(engine, "aaaa")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("bbb", "rondel sessions lists them"),
        ("zzzz", "rondel sessions lists them"),
        ("aaab000000000001", f"did you mean '{IDS[0]}'?"),
    ],
)
def test_an_unknown_session_comes_with_a_hint(engine: Engine, text: str, hint: str) -> None:
    with pytest.raises(UnknownSession) as raised:
        find(engine, text)
    assert str(raised.value).endswith(f"; {hint}")


def test_commands_can_be_typed_as_they_are() -> None:
    plain, python = NextCommands("id1", None), NextCommands("id1", "my file.db", is_python=True)
    assert plain.answer() == "rondel answer id1 TEXT"
    assert plain.answer("Press Office") == "rondel answer id1 TEXT --node 'Press Office'"
    assert plain.resume() == "rondel resume id1"
    assert python.resume() == "rondel resume id1 FILE.py --db 'my file.db'"
    assert python.unlock() == ("rondel unlock id1 --because TEXT --graph FILE.py --db 'my file.db'")


@pytest.mark.parametrize(
    ("db", "printed"),
    [
        ("my file.db", "my file.db"),
        ("postgresql://host:5433/x", "postgresql://host:5433/x"),
        ("postgresql://me@host:5433/x", "postgresql://me@host:5433/x"),
        ("postgresql://me:geheim@host:5433/x", "postgresql://me:***@host:5433/x"),
        ("postgresql://me:ge@he/im@/x?host=/run", "postgresql://me:***@/x?host=/run"),
        (
            "postgresql:///x?password=geheim&user=me&sslpassword=geheim",
            "postgresql:///x?password=***&user=me&sslpassword=***",
        ),
    ],
)
def test_an_address_is_printed_without_its_password(db: str, printed: str) -> None:
    assert shown(db) == printed
    assert printed in NextCommands("id1", db).resume()


def test_a_database_that_is_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CallError, match="there is no database"):
        open_existing(str(tmp_path / "no.db"))
    monkeypatch.setenv("RONDEL_DB", str(tmp_path / "own.db"))
    assert list(open_existing(None).sessions().rows) == []
    assert not (tmp_path / "own.db").exists()
    monkeypatch.setenv("RONDEL_DB", ":memory:")
    with pytest.raises(CallError, match="end with their process"):
        open_existing(None)
