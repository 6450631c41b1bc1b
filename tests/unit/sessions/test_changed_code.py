"""A session that goes on with other functions than it began with says so, or is refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, Question, Suspend
from rondel.errors import CodeChanged
from rondel.sessions.registry import builtin_registry, default_registry

FILE = """
graph:
  id: gate
  nodes:
    - {id: Ask, type: human, config: {description: Go on?}}
    - {id: Done, type: literal, config: {content: done}}
  edges:
    - {from: Ask, to: Done, condition: {type: function, config: {name: is_open}}}
"""


def authored(limit: int = 90, mark: str = "!") -> Graph:
    """A graph that waits for somebody, with a function before, one behind and one between."""
    graph = Graph("authored")

    @graph.node
    def draft(inp: Any) -> dict[str, int]:
        return {"score": 95}

    @graph.node
    def ask(inp: Any) -> Any:
        return Suspend(Question("good?")) if inp.answer is None else {"score": 95}

    @graph.node
    def done(inp: Any) -> str:
        return f"done{mark}"

    graph.edge("draft", "ask", when=lambda message: message.data["score"] >= limit)
    graph.edge("ask", "done")
    return graph


async def waiting(path: Path, graph: Graph) -> str:
    async with Engine(path) as engine:
        session = await engine.start(graph)
        await session.settled()
        assert session.status == "waiting"
        return session.id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rondel.db"


async def test_the_same_code_is_not_worth_a_word(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    id = await waiting(path, authored())
    async with Engine(path, strict_code=True) as engine:
        session = await engine.resume(id, authored())
        await session.answer("yes")
        assert (await session.result()).output == "done!"
    assert caplog.records == []


async def test_other_code_is_told_with_its_place(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    id = await waiting(path, authored())
    async with Engine(path) as engine:
        session = await engine.resume(id, authored(limit=80, mark="."))
        await session.answer("yes")
        assert (await session.result()).output == "done."
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told
    assert told[0] == (
        f"node done and condition draft -> ask (edge 1) changed since session {id} began; "
        "it goes on with the code of now"
    )


async def test_strict_code_refuses_and_changes_nothing(path: Path) -> None:
    id = await waiting(path, authored())
    async with Engine(path, strict_code=True) as engine:
        with pytest.raises(CodeChanged, match=r"node done changed since session .* as it was"):
            await engine.resume(id, authored(mark="."))
        assert engine.get(id).status == "waiting"
        session = await engine.resume(id, authored())
        await session.answer("yes")
        assert (await session.result()).status == "completed"


async def test_strict_code_refuses_what_nobody_can_tell(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("rondel.sessions.fingerprints.PYTHON", "3.2")
        id = await waiting(path, authored())
    async with Engine(path, strict_code=True) as engine:
        with pytest.raises(CodeChanged, match="another version of Python"):
            await engine.resume(id, authored())
    async with Engine(path) as engine:
        assert (await engine.resume(id, authored())).status == "waiting"


async def test_a_registered_function_that_changed_is_told_too(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, after = builtin_registry(), builtin_registry()
    before.function("is_open", lambda message: True)
    after.function("is_open", lambda message: bool(message.text))
    async with Engine(path, registry=before) as engine:
        session = await engine.start(Graph.loads(FILE, registry=before))
        await session.settled()
    async with Engine(path, registry=after) as engine:
        await engine.get(session.id).answer("yes")
        assert (await engine.get(session.id).result()).output == "done"
    assert any("function is_open changed since" in record.getMessage() for record in caplog.records)
    assert "is_open" not in default_registry().names("function")
