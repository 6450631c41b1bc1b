"""Sessions of one graph share what was read of it, as long as reading again gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondel import Engine, Graph

ASKING = """
graph:
  id: g
  nodes:
    - {id: H, type: human, config: {description: "DESCRIPTION"}}
"""


def asking(description: str) -> Graph:
    return Graph.loads(ASKING.replace("DESCRIPTION", description))


async def waiting(path: Path, *graphs: Graph) -> list[str]:
    async with Engine(path) as engine:
        return [(await engine.run(graph)).session_id for graph in graphs]


async def test_sessions_of_one_graph_share_it(tmp_path: Path) -> None:
    first, second = await waiting(tmp_path / "db", asking("?"), asking("?"))
    async with Engine(tmp_path / "db") as engine:
        one, other = engine.get(first), engine.get(second)
        assert one.plan is other.plan
        assert one.graph is other.graph


async def test_graphs_of_one_name_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    ids = await waiting(tmp_path / "db", asking("red?"), asking("blue?"), asking("red?"))
    async with Engine(tmp_path / "db") as engine:
        configs = [engine.get(id).graph.document["graph"]["nodes"][0]["config"] for id in ids]
        assert [config["description"] for config in configs] == ["red?", "blue?", "red?"]
        assert [engine.get(id).questions()[0].description for id in ids] == [
            "red?",
            "blue?",
            "red?",
        ]


async def test_a_variable_that_changed_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "red")
    first, second = await waiting(tmp_path / "db", *[asking("${COLOUR}?")] * 2)
    async with Engine(tmp_path / "db") as engine:
        before = engine.get(first).graph
        assert engine.get(second).graph is before
        monkeypatch.setenv("COLOUR", "blue")
        after = engine.get(second).graph
        assert [graph.environment["COLOUR"] for graph in (before, after)] == ["red", "blue"]


async def test_what_somebody_does_to_the_graph_of_one_session_stays_with_it(tmp_path: Path) -> None:
    first, second = await waiting(tmp_path / "db", asking("?"), asking("?"))
    async with Engine(tmp_path / "db") as engine:
        changed = engine.get(first).graph
        changed.add("more", "human")
        assert [node.id for node in engine.get(second).graph.spec.nodes] == ["H"]
