"""Prices that a graph sets: in its file or beside it, for models that nobody lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rondel
from rondel import Graph, GraphError
from rondel.certificate import certify
from rondel.formats.referenced_files import inlined

MINE = {"input": 0.5, "output": 1.5, "cache_read": 0.1}
TAKEN = {"input_tokens": 1_000_000, "output_tokens": 2_000_000}
SCRIPTED = {
    "provider": "scripted",
    "name": "mine",
    "answers": [{"content": "yes", "usage": TAKEN}],
}
REAL = {"provider": "openai", "name": "mine", "base_url": "http://127.0.0.1:9/v1"}


def document(config: dict[str, Any], type: str = "agent", **more: Any) -> dict[str, Any]:
    nodes = [{"id": "A", "type": type, "config": config}]
    limits = more.pop("limits", {})
    return {"graph": {"id": "g", "nodes": nodes, "limits": limits}, **more}


def test_a_price_in_the_graph_is_what_calls_cost_and_what_the_certificate_says() -> None:
    graph = Graph.from_document(document(SCRIPTED, prices={"mine": MINE}))
    assert rondel.run(graph, "x").usage.usd == pytest.approx(3.5)
    assert certify(graph.plan()).cost.usd == pytest.approx(3.5)


def test_prices_go_before_what_is_listed() -> None:
    config = {**SCRIPTED, "name": "gpt-4o"}
    graph = Graph.from_document(document(config, prices={"gpt-4o": {"input": 1, "output": 0}}))
    assert rondel.run(graph, "x").usage.usd == pytest.approx(1)


def test_prices_reach_agents_inside_other_nodes_and_graphs() -> None:
    config = {"agents": {"a": SCRIPTED}}
    inner = document(config, "vote")["graph"]
    whole = document({"graph": inner}, "subgraph", prices={"mine": MINE})
    usage = rondel.run(Graph.from_document(whole), "x").usage
    assert usage.tokens > 0
    assert usage.usd == pytest.approx(3.5 * usage.tokens / 3_000_000)


def test_prices_in_a_file_are_kept_with_the_session(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("mine: {input: 0.5, output: 1.5}\n")
    graph = Graph.from_document(document(SCRIPTED, prices="prices.yaml"), directory=tmp_path)
    assert certify(graph.plan()).cost.usd == pytest.approx(3.5)
    (tmp_path / "prices.yaml").unlink()
    again = Graph.from_stored(graph.stored)
    assert certify(again.plan()).cost.usd == pytest.approx(3.5)
    whole = inlined(graph.document, graph.includes)
    assert whole["prices"] == {"mine": {"input": 0.5, "output": 1.5}}


def test_a_price_in_a_file_that_is_wrong_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("other: {input: 1, output: 1}\nmine: {input: -1}\n")
    (tmp_path / "g.yaml").write_text(
        "prices: prices.yaml\ngraph: {id: g, nodes: [{id: A, type: passthrough}]}"
    )
    with pytest.raises(GraphError) as error:
        Graph.load(tmp_path / "g.yaml")
    places = [(problem.file, problem.line, problem.path) for problem in error.value.problems]
    file = str(tmp_path / "prices.yaml")
    assert places == [(file, 2, "mine.input"), (file, 2, "mine.output")]


def test_prices_can_be_set_in_python() -> None:
    graph = Graph("g")
    graph.add("A", "agent", SCRIPTED)
    graph.prices({"mine": MINE})
    assert rondel.run(graph, "x").usage.usd == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("config", "type"),
    [(REAL, "agent"), ({"agents": {"a": REAL}}, "vote"), ({"agent": REAL}, "fact_check")],
)
def test_a_limit_in_money_over_a_model_without_a_price_is_an_error_at_load(
    config: dict[str, Any], type: str
) -> None:
    with pytest.raises(GraphError, match=r"'mine'.*prices: \{mine: ") as error:
        Graph.from_document(document(config, type, limits={"usd": 1}))
    assert len(error.value.problems) == 1
    priced = document(config, type, limits={"usd": 1}, prices={"mine": MINE})
    assert Graph.from_document(priced).plan()
    assert Graph.from_document(document(config, type, limits={"tokens": 1})).plan()


def looped(budget: dict[str, float]) -> dict[str, Any]:
    """A loop of a scripted agent, and behind it one whose model nobody lists."""
    nodes = [
        {"id": "A", "type": "agent", "config": SCRIPTED},
        {"id": "B", "type": "agent", "config": REAL},
    ]
    edges = [{"from": "A", "to": "A"}, {"from": "A", "to": "B", "label": "limit"}]
    loops = {"A": {"max_rounds": 2, "budget": budget}}
    return {"graph": {"id": "g", "start": "A", "nodes": nodes, "edges": edges, "loops": loops}}


def test_a_loops_budget_in_money_asks_for_the_prices_of_what_is_in_the_loop() -> None:
    assert Graph.from_document(looped({"usd": 1})).plan()
    inside = looped({"usd": 1})
    inside["graph"]["nodes"][0]["config"] = REAL
    with pytest.raises(GraphError, match="the budget of loop 'A' bounds 'A'"):
        Graph.from_document(inside)


def test_a_server_of_ones_own_is_free() -> None:
    config = {"provider": "ollama", "name": "mine"}
    graph = Graph.from_document(document(config, limits={"usd": 1}))
    assert certify(graph.plan()).cost.usd == 0


def test_what_a_session_keeps_opens_though_its_model_has_no_price() -> None:
    """Sessions from before this rule can be gone on with."""
    stored = Graph.from_document(document(REAL)).stored
    stored.document["graph"]["limits"] = {"usd": 1}
    assert Graph.from_stored(stored).plan()
