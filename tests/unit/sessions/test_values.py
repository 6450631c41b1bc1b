"""What a session can hold is the same in memory and in a file, and refused in the same words."""

import asyncio
import datetime
import math
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.sessions.registry import builtin_registry


def _circular() -> dict[str, Any]:
    around: dict[str, Any] = {}
    around["itself"] = around
    return around


def _deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(3000):
        value = {"x": value}
    return value


REFUSED = {
    "object": {"a": object()},
    "set": {"a": {1}},
    "NaN": {"a": math.nan},
    "infinity": {"a": [math.inf]},
    "number as key": {"a": {1: 2}},
    "none as key": {None: 1},
    "tuple as key": {"a": {(1, 2): 3}},
    "bytes": {"a": b"x"},
    "date": {"a": datetime.date(2026, 1, 1)},
    "circular": _circular(),
    "deep": _deep(),
    "half a character": {"a": "\ud800"},
    "half a character as key": {"\ud800": "a"},
    "text with half a character": "a \ud800",
}
HELD = {
    "huge": {"a": 10**400, "b": -(2**70), "c": 2**53 + 1},
    "nested": {"a": [{"b": [1, 2.5, None, True, "é漢😀"]}]},
    "deep but not too deep": {"a": [[[[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]]]},
}


def ended(value: Any, db: Path | None) -> tuple[str, str, Any]:
    """How a graph ends whose only node returns the value: status, why, and the data."""
    graph = Graph("values")

    @graph.node
    def give(inp: Any) -> Any:
        return value

    async def run() -> tuple[str, str, Any]:
        async with asyncio.timeout(30), Engine(db=db) as engine:
            session = await engine.start(graph, "x")
            result = await session.result()
            events = [event async for event in session.events()]
        errors = [event.data["error"] for event in events if event.event == "error"]
        return result.status, "; ".join(errors), result.data

    return asyncio.run(run())


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_memory_refuses_in_the_same_words(
    name: str, tmp_path: Path
) -> None:
    in_memory = ended(REFUSED[name], None)
    assert in_memory[0] == "failed"
    assert in_memory[1].startswith("step 1 ")
    assert in_memory == ended(REFUSED[name], tmp_path / "journal.db")


@pytest.mark.parametrize("name", HELD)
def test_what_a_file_can_hold_memory_holds_too(name: str, tmp_path: Path) -> None:
    for db in (None, tmp_path / "journal.db"):
        assert ended(HELD[name], db) == ("completed", "", HELD[name])


@pytest.mark.parametrize("stored", [False, True])
def test_an_error_with_half_a_character_in_it_is_told(stored: bool, tmp_path: Path) -> None:
    graph = Graph("values")

    @graph.node
    def give(inp: Any) -> Any:
        raise ValueError("this: \ud800")

    async def run() -> list[str]:
        db = tmp_path / "journal.db" if stored else None
        async with asyncio.timeout(30), Engine(db=db) as engine:
            session = await engine.start(graph, "a \udcff task")
            assert (await session.result()).status == "failed"
            return [e.data["error"] async for e in session.events() if e.event == "error"]

    assert asyncio.run(run()) == ["ValueError: this: \ufffd"]


class Parting:
    """A node type of somebody's own, with a part that no journal can hold."""

    async def process(self, ctx: Context) -> Emit:
        async def part() -> Any:
            return {1, 2}

        return Emit((Message(str(await ctx.substep("part", part))),))


@pytest.mark.parametrize("stored", [False, True])
def test_a_part_of_a_step_that_cannot_be_held_fails_the_step(stored: bool, tmp_path: Path) -> None:
    registry = builtin_registry()
    registry.node("parting", None, lambda config, _: Parting())
    text = "graph: {id: g, nodes: [{id: A, type: parting}], edges: []}"
    graph = Graph.loads(text, registry=registry)

    async def run() -> tuple[str, list[str]]:
        db = tmp_path / "journal.db" if stored else None
        async with asyncio.timeout(30), Engine(db=db) as engine:
            session = await engine.start(graph, "x")
            status = (await session.result()).status
            errors = [e.data["error"] async for e in session.events() if e.event == "error"]
            return status, errors

    status, errors = asyncio.run(run())
    assert status == "failed"
    assert "set" in errors[0]
