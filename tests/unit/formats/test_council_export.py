"""A graph written for Council comes back the same, and what Council will not see is named."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, GraphError
from rondel.formats.council_export import to_council
from rondel.formats.referenced_files import inlined

EXAMPLES = Path(__file__).parents[3] / "examples"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "council"
PLUGIN = "18_plugin"
"""Its node types are not installed here."""

GRAPHS = [path for path in sorted(EXAMPLES.glob("*/graph.yaml")) if path.parent.name != PLUGIN]


def _document(graph: Graph) -> dict[str, Any]:
    return inlined(graph.document, graph.includes)


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what is there by default."""
    nodes = [{"config": {}, **node} for node in document["graph"]["nodes"]]
    graph = {"edges": [], **document["graph"], "nodes": nodes}
    return {**document, "version": 1, "graph": graph}


def _back(foreign: dict[str, Any]) -> Graph:
    return Graph.loads(json.dumps(foreign), compat="council", demand_secrets=False)


@pytest.mark.parametrize("path", GRAPHS, ids=[path.parent.name for path in GRAPHS])
def test_every_example_comes_back_as_it_was(path: Path) -> None:
    graph = Graph.load(path, demand_secrets=False)
    foreign = to_council(_document(graph)).document
    back = _back(foreign)
    assert _plain(back.document) == _plain(_document(graph))
    assert back.warnings == graph.warnings
    assert set(foreign["nodes"]) >= {node["id"] for node in graph.document["graph"]["nodes"]}
    for name, node in foreign["nodes"].items():
        assert node["node_id"] == name
        assert set(node["next_ids"]) <= set(foreign["nodes"])


def _ran(graph: Graph, answers: list[str]) -> tuple[Any, ...]:
    async def run() -> tuple[Any, ...]:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "the original")
            result = await session.settled()
            for answer in answers:
                await session.answer(answer)
                result = await session.settled()
            outputs = [(step.address, step.outputs) for step in session.steps()]
            return result.status, result.output, [loop.rounds for loop in result.loops], outputs

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("file", "answers"), [("debate", []), ("optimize", ["apply", "continue", "rollback", "exit"])]
)
def test_a_workflow_of_council_runs_the_same_there_and_back(file: str, answers: list[str]) -> None:
    graph = Graph.load(FIXTURES / f"{file}.json", compat="council")
    again = _back(to_council(_document(graph)).document)
    timestamps = {"timestamp"}

    def told(ran: tuple[Any, ...]) -> Any:
        return [
            (
                address,
                [{**said, "data": _without(said.get("data"), timestamps)} for said in outputs],
            )
            for address, outputs in ran[-1]
        ]

    first, second = _ran(graph, answers), _ran(again, answers)
    assert first[:-1] == second[:-1]
    assert told(first) == told(second)


def _without(data: Any, keys: set[str]) -> Any:
    return {key: value for key, value in (data or {}).items() if key not in keys}


GRAPH = """graph:
  id: g
  start: [one, two]
  nodes:
    - {id: one, type: literal, config: {content: a}}
    - {id: two, type: passthrough}
    - {id: gate, type: loop, config: {max_rounds: 2}}
    - {id: out, type: passthrough, timeout: 5}
    - {id: beside, type: passthrough}
  edges:
    - {from: one, to: gate}
    - {from: two, to: gate, condition: {type: keyword, config: {any: [x]}}}
    - {from: gate, to: out, label: exit}
    - {from: gate, to: beside, label: continue}
    - {from: one, to: out, trigger: false}
"""


def test_several_starts_are_led_to_by_one_and_ways_are_in_councils_order() -> None:
    foreign = to_council(Graph.loads(GRAPH).document).document
    start = foreign["nodes"][foreign["start_node_id"]]
    assert (start["type"], start["next_ids"]) == ("start", ["one", "two"])
    assert foreign["nodes"]["gate"]["next_ids"] == ["beside", "out"]
    assert foreign["nodes"]["out"]["type"] == "end"
    assert "start" not in [node["id"] for node in _back(foreign).document["graph"]["nodes"]]


def test_what_council_will_not_see_is_told_with_its_place() -> None:
    told = {problem.path for problem in to_council(Graph.loads(GRAPH).document).unseen}
    assert told == {
        "graph",
        "graph.nodes[0].type",
        "graph.nodes[3].timeout",
        "graph.edges[1].condition",
    }


def test_next_nodes_that_were_changed_there_are_changed_here() -> None:
    foreign = to_council(Graph.loads(GRAPH).document).document
    foreign["nodes"]["one"]["next_ids"] = ["two", "gate"]
    foreign["nodes"]["gate"]["next_ids"] = ["beside"]
    edges = [(edge.source, edge.target) for edge in _back(foreign).spec.edges]
    assert edges == [
        ("one", "gate"),
        ("two", "gate"),
        ("gate", "beside"),
        ("one", "out"),
        ("one", "two"),
    ]


def test_what_is_wrong_under_the_key_is_told_by_its_place() -> None:
    foreign = to_council(Graph.loads(GRAPH).document).document
    foreign["x-rondel"]["edges"][0]["from"] = "nobody"
    with pytest.raises(GraphError) as caught:
        _back(foreign)
    assert "x-rondel.edges[0].from" in [problem.path for problem in caught.value.problems]
