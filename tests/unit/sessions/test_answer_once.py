"""An answer in a process that has not seen the session does nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions import drive, graph

ASKING = """
graph:
  id: g
  nodes: [{id: Ask, type: human, config: {description: "Well?"}}]
"""


async def test_the_graph_is_compiled_once_and_the_journal_folded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(tmp_path / "db") as engine:
        known = (await engine.run(Graph.loads(ASKING))).session_id
    calls: list[str] = []

    def counted(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            calls.append(name)
            return real(*args, **more)

        monkeypatch.setattr(owner, name, call)

    counted(graph, "compile_graph")
    counted(drive, "fold")
    counted(SqliteStore, "session")
    async with Engine(tmp_path / "db") as engine:
        session = engine.get(known)
        await session.answer("yes")
        assert [calls.count(name) for name in ("compile_graph", "fold")] == [1, 1]
        assert calls.count("session") <= 3  # to find it, to read its graph, under its lease
        assert (await session.result()).status == "completed"
