# ruff: noqa: N999
"""Tests that fail because of a bug; not collected. Run them with `pytest tests/KNOWN_BUGS.py`.

One that passes belongs in the file its comment names, and out of here.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from rondel import Context, Engine, Graph, Outcome
from rondel.errors import WrongState
from tests.unit.engine.test_failures import beside
from tests.unit.sessions.playing import alone, chain, limited, play, saying
from tests.unit.sessions.test_controls import STORMS, Storm

# unit/engine/test_failures


def test_a_process_that_is_not_async_and_raises_fails_its_step() -> None:
    class Plain:
        def process(self, ctx: Context) -> Outcome:
            raise ValueError("at once")

    graph = Graph("g")
    graph.add("a", Plain())  # type: ignore[arg-type]
    assert play(graph, seconds=3).result.message == "a: ValueError: at once"


@pytest.mark.parametrize("graph", [alone, beside])
def test_a_plain_function_that_meets_a_cancelled_future_fails_its_step(graph: Any) -> None:
    """In place the session stays `running` for ever; beside others the driver hangs."""

    def asks_a_cancelled_future(inp: Context) -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        future.result()

    result = play(graph(asks_a_cancelled_future), seconds=3).result
    assert (result.status, result.reason) == ("failed", "step_failed")


def test_a_subgraph_that_may_fail_does_not_fail_the_session() -> None:
    """`on_error`, `retry` and `timeout` of a subgraph node are accepted and do nothing."""
    inner = {
        "id": "inner",
        "nodes": [
            {
                "id": "x",
                "type": "agent",
                "config": {"provider": "scripted", "answers": [{"error": "down"}]},
            }
        ],
    }
    graph = saying(Graph("g", start=["S", "other"], end="E"), "other", "E")
    graph.add("S", "subgraph", {"graph": inner}, on_error="continue")
    graph.edge("S", "E")
    graph.edge("other", "E")
    played = play(graph)
    assert played.result.status == "completed"
    assert played.inputs("E") == [["other"]]


# unit/sessions/test_controls


def asking(work: Any) -> Graph:
    """s -> h1 -> e, s -> h2 -> work -> e."""
    graph = saying(Graph("asking", end="e"), "s")
    graph.node(id="work")(work)
    graph.node(id="e")(lambda inp: " ".join(message.text for message in inp.messages))
    for human in ("h1", "h2"):
        graph.add(human, "human")
        graph.edge("s", human)
    chain(graph, "h1", "e")
    chain(graph, "h2", "work", "e")
    return graph


def test_a_refused_control_does_not_let_go_of_the_next_one(tmp_path: Path) -> None:
    """The driver that the refused control woke parks the session in the middle of the next one.

    The lease is given back, nobody is said to drive it, and the next control starts a second
    driver beside the first: a step runs twice, and its two outcomes spoil the journal.
    """

    async def main() -> None:
        calls: list[str] = []

        async def work(inp: Context) -> str:
            calls.append(inp.address)
            await asyncio.sleep(0.2)
            return inp.text

        async with Engine(db=tmp_path / "x.db") as engine:
            session = await engine.start(asking(work))
            await session.settled()
            with pytest.raises(WrongState):
                await session.answer("nobody asked", node="s")
            await session.answer("two", node="h2")
            await asyncio.sleep(0.02)
            assert engine.store.lease(session.id) is not None
            await session.answer("one", node="h1")
            assert (await session.result()).output == "one two"
            await asyncio.sleep(0.3)
            assert calls == ["work"]
            assert len(session.steps()) == 5

    limited(main(), 5)


@settings(max_examples=60, deadline=None)
@given(controls=STORMS)
def test_whatever_is_asked_of_a_session_in_a_file_every_step_runs_once(
    controls: list[str],
) -> None:
    with TemporaryDirectory() as folder:
        limited(Storm().run(Path(folder) / "x.db", controls), 10)


# architecture/test_layers: KNOWN_TO_BE_LONGER is to be empty


def test_no_file_at_all_is_longer_than_500_lines() -> None:
    files = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in files}
    assert not {name: count for name, count in lines.items() if count > 500}
