"""An answer in a process that has not seen the session does nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.cli import main
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions import drive, graph

ASKING = """
graph:
  id: g
  nodes: [{id: Ask, type: human, config: {description: "Well?"}}]
"""
ONCE = {"session": 1, "compile_graph": 1, "fold": 1}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a row is read, a graph is compiled and a journal is folded."""
    calls: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            calls[name] += 1
            return real(*args, **more)

        monkeypatch.setattr(owner, name, call)

    count(graph, "compile_graph")
    count(drive, "fold")
    count(SqliteStore, "session")
    count(PostgresStore, "session")
    return calls


async def waiting(db: str) -> str:
    async with Engine(db) as engine:
        return (await engine.run(Graph.loads(ASKING))).session_id


async def answer_in_another_process(db: str, calls: Counter[str]) -> None:
    known = await waiting(db)
    calls.clear()
    async with Engine(db) as engine:
        session = engine.get(known)
        await session.answer("yes")
        assert (await session.result()).status == "completed"
    assert calls == ONCE


async def test_of_a_file_row_graph_and_journal_are_read_once(
    tmp_path: Path, calls: Counter[str]
) -> None:
    await answer_in_another_process(str(tmp_path / "db"), calls)


async def test_of_postgresql_row_graph_and_journal_are_read_once(
    database: str, calls: Counter[str]
) -> None:
    await answer_in_another_process(database, calls)


async def test_the_command_reads_them_once_too(
    tmp_path: Path, calls: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    db = str(tmp_path / "db")
    known = await waiting(db)
    calls.clear()
    assert await asyncio.to_thread(main, ["answer", known, "yes", "--db", db]) == 0
    assert "completed" in capsys.readouterr().out
    assert calls == ONCE
