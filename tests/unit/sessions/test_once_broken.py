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

from rondel import Context, Engine, Graph, GraphError, Outcome
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
    assert play(graph).result.message == "a: ValueError: at once"


@pytest.mark.parametrize("graph", [alone, beside])
def test_a_plain_function_that_meets_a_cancelled_future_fails_its_step(graph: Any) -> None:
    """In place the session stays `running` for ever; beside others the driver hangs."""

    def asks_a_cancelled_future(inp: Context) -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        future.result()

    result = play(graph(asks_a_cancelled_future)).result
    assert (result.status, result.reason) == ("failed", "step_failed")


def test_what_a_node_with_a_graph_inside_cannot_have_is_refused() -> None:
    inner = {"graph": {"id": "inner", "nodes": [{"id": "a", "type": "passthrough"}]}}
    for field in ({"on_error": "continue"}, {"timeout": 1}, {"retry": {"max_attempts": 2}}):
        graph = Graph("g")
        graph.add("S", "subgraph", inner, **field)
        with pytest.raises(GraphError, match="set them on the nodes inside it"):
            graph.plan()


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


async def test_a_refused_control_does_not_let_go_of_the_next_one(tmp_path: Path) -> None:
    """The driver that the refused control woke parks the session in the middle of the next one.

    The lease is given back, nobody is said to drive it, and the next control starts a second
    driver beside the first: a step runs twice, and its two outcomes spoil the journal.
    """

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


@settings(max_examples=60, deadline=None)
@given(controls=STORMS)
def test_whatever_is_asked_of_a_session_in_a_file_every_step_runs_once(
    controls: list[str],
) -> None:
    with TemporaryDirectory() as folder:
        limited(Storm().run(Path(folder) / "x.db", controls))
