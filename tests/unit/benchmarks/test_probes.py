"""What only Rondel is asked is asked of graphs that really run."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.probes import (
    bridge,
    check,
    compiling,
    shared_commits,
    slow_consumer,
    waiting,
    yaml_loop,
)
from rondel import Engine, Graph


@pytest.mark.parametrize("graph", [yaml_loop.yaml_graph(4), yaml_loop.python_graph(4)])
async def test_the_loop_in_yaml_and_the_one_in_python_have_the_same_rounds_and_steps(
    graph: Graph,
) -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "task")
        result = await session.result()
        assert (int(result.data["current_round"]), len(session.steps())) == (4, 3 * 4 + 1)


def test_the_graph_to_check_is_a_chain_of_loops() -> None:
    graph = Graph.from_document(check.document(50))
    assert len(graph.plan().nodes) == 50 + 1
    assert len([one for one in graph.plan().nodes if one.spec.type == "loop"]) == 5


def test_the_graph_to_compile_has_all_its_nodes() -> None:
    assert len(compiling.chain(20).plan().nodes) == 20


def test_every_waiting_session_is_answered() -> None:
    figures = asyncio.run(waiting.wait_and_answer(2 * waiting.AT_ONCE))
    assert figures["sessions"] == 2 * waiting.AT_ONCE


def test_a_run_is_over_before_its_slow_consumer_is() -> None:
    assert slow_consumer.figures(2).keys() == {"alone", "watched"}


def test_sessions_on_one_store_all_get_on() -> None:
    assert asyncio.run(shared_commits.race(1)).keys() == {"one", "hundred"}


def test_whoever_asks_a_model_gets_the_same_text() -> None:
    ways = {f"{way}, {how}" for way in bridge.WAYS for how in ("streaming", "whole")}
    assert bridge.figures(1).keys() == ways
