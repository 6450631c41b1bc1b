"""A contract or a breaker that is wrong is an error when the graph is loaded, with a hint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rondel import Graph, GraphError

# What is wrong is said when the graph is loaded


def problems(loop: Any = None, **more: Any) -> list[tuple[str, str]]:
    """Path and whole text of all that is wrong with a graph whose loop has this contract."""
    body: dict[str, Any] = {
        "id": "g",
        "start": "writer",
        "nodes": [
            {"id": "writer", "type": "literal", "config": {"content": "x"}},
            {"id": "critic", "type": "passthrough"},
            {"id": "done", "type": "passthrough"},
        ],
        "edges": [
            {"from": "writer", "to": "critic"},
            {"from": "critic", "to": "writer"},
            {"from": "critic", "to": "done", "condition": False},
        ],
        **more,
    }
    if loop is not None:
        body["loops"] = {"writer": loop}
    text = json.dumps({"graph": body}, indent=1)
    try:
        Graph.loads(text)
    except GraphError as error:
        found = [(p.path, f"{p.message}; {p.hint}", p.line) for p in error.problems]
        assert all(line for _, _, line in found), found
        return [(path, words) for path, words, _ in found]
    return []


WRONG: list[tuple[Any, str, str]] = [
    ({"score": {"node": "critik"}}, "graph.loops.writer.score.node", "'critic'"),
    ({"score": {"node": "done"}}, "graph.loops.writer", "writer, critic"),
    ({"score": ""}, "graph.loops.writer.score", "data"),
    ({"score": "data."}, "graph.loops.writer.score", "data.score"),
    ({"score": {"nod": "critic"}}, "graph.loops.writer.score.nod", "node"),
    ({"until": "scores > 3"}, "graph.loops.writer.until", "score"),
    ({"until": "score >"}, "graph.loops.writer.until", ""),
    ({"until": ""}, "graph.loops.writer.until", ""),
    ({"until": 3}, "graph.loops.writer.until", "text"),
    ({"max_rounds": 0}, "graph.loops.writer.max_rounds", "1"),
    ({"max_rounds": -2}, "graph.loops.writer.max_rounds", "1"),
    ({"max_rounds": 2.5}, "graph.loops.writer.max_rounds", ""),
    ({"exit_on_score": "90"}, "graph.loops.writer.exit_on_score", ""),
    ({"patience": {"rounds": 0}}, "graph.loops.writer.patience.rounds", "1"),
    ({"patience": {}}, "graph.loops.writer.patience", "rounds"),
    ({"patience": {"rounds": 2, "min_delta": -1}}, "graph.loops.writer.patience.min_delta", "0"),
    ({"patience": {"rounds": 2, "delta": 1}}, "graph.loops.writer.patience.delta", "min_delta"),
    ({"on_stagnation": "nuge"}, "graph.loops.writer.on_stagnation", "nudge"),
    ({"regression": {"drop": 0}}, "graph.loops.writer.regression.drop", "0"),
    ({"regression": {"drop": -1}}, "graph.loops.writer.regression.drop", "0"),
    (
        {"regression": {"drop": 1, "action": "rolback"}},
        "graph.loops.writer.regression.action",
        "rollback",
    ),
    ({"regression": {"action": "warn"}}, "graph.loops.writer.regression", "drop"),
    ({"budget": {"tokens": 0}}, "graph.loops.writer.budget.tokens", "1"),
    ({"budget": {"usd": -0.5}}, "graph.loops.writer.budget.usd", "0"),
    ({"budget": {"wall_time": "soon"}}, "graph.loops.writer.budget.wall_time", ""),
    ({"budget": {"token": 5}}, "graph.loops.writer.budget.token", "tokens"),
    ({"on_limit": "ask"}, "graph.loops.writer.on_limit", "human"),
    ({"carry": "none"}, "graph.loops.writer.carry", "last"),
    ({"carry": {"window": 0}}, "graph.loops.writer.carry", "1"),
    ({"carry": {"window": 1, "windw": 1}}, "graph.loops.writer.carry", "window"),
    ({"exit": "never"}, "graph.loops.writer.exit", "now"),
    ({"max_round": 3}, "graph.loops.writer.max_round", "max_rounds"),
]


@pytest.mark.parametrize(("loop", "path", "hint"), WRONG, ids=lambda v: str(v)[:50])
def test_a_wrong_contract_is_an_error_with_its_place_and_a_hint(
    loop: Any, path: str, hint: str
) -> None:
    found = problems(loop)
    assert len(found) == 1, found
    assert found[0][0].startswith(path), found
    assert hint in found[0][1], found


def test_a_right_contract_is_no_error() -> None:
    whole = {
        "max_rounds": 5,
        "exit_on_score": 90,
        "score": {"node": "critic", "path": "data.score"},
        "until": "score > 3.0 && round > 1",
        "patience": {"rounds": 2, "min_delta": 2},
        "on_stagnation": "nudge",
        "regression": {"drop": 10, "action": "rollback"},
        "budget": {"tokens": 100, "usd": 0.5, "wall_time": "10m"},
        "on_limit": "human",
        "carry": {"window": 2},
        "exit": "now",
    }
    assert problems(whole) == []


def test_all_that_is_wrong_is_said_at_once() -> None:
    loop = {"max_rounds": -1, "until": "scores > 1", "score": {"node": "nobody"}, "carry": "x"}
    assert len(problems(loop, breaker={"window": 0})) == 5


BREAKERS: list[tuple[Any, str, str]] = [
    ({"tokn_factor": 3}, "graph.breaker", "token_factor"),
    ({"token_factor": 0}, "graph.breaker", "0"),
    ({"min_entropy": 1.5}, "graph.breaker", "1"),
    ({"window": 0}, "graph.breaker", "1"),
    ({"timeout": "soon"}, "graph.breaker", ""),
    ({"estimated_tokens": -1}, "graph.breaker", "1"),
    ("of", "graph.breaker", "off"),
    (3, "graph.breaker", ""),
]


@pytest.mark.parametrize(("breaker", "path", "hint"), BREAKERS, ids=lambda v: str(v)[:40])
def test_a_wrong_breaker_is_an_error_with_its_place_and_a_hint(
    breaker: Any, path: str, hint: str
) -> None:
    found = problems(breaker=breaker)
    assert len(found) == 1, found
    assert found[0][0].startswith(path), found
    assert hint in found[0][1], found


YAML = """
graph:
  id: g
  breaker: {}
  nodes:
    - {{id: a, type: literal, config: {{content: x}}}}
"""


@pytest.mark.parametrize("off", ["off", "false", '"off"'])
def test_the_breaker_can_be_turned_off_in_yaml_and_that_is_said(off: str) -> None:
    graph = Graph.loads(YAML.format(off))
    assert graph.spec.breaker is None
    assert any("circuit breaker is off" in warning.message for warning in graph.warnings)


@pytest.mark.parametrize("off", ["off", False])
def test_the_breaker_can_be_turned_off_in_json(off: Any) -> None:
    nodes = [{"id": "a", "type": "literal", "config": {"content": "x"}}]
    text = json.dumps({"graph": {"id": "g", "breaker": off, "nodes": nodes}})
    assert Graph.loads(text).spec.breaker is None


@pytest.mark.parametrize("on", ["on", "true", "null", "{}", '"on"'])
def test_the_breaker_is_on_otherwise(on: str) -> None:
    graph = Graph.loads(YAML.format(on))
    assert graph.spec.breaker is not None
    assert not graph.warnings


def test_a_contract_for_a_node_that_heads_no_loop_is_an_error() -> None:
    found = problems(loops={"done": {"max_rounds": 2}})
    assert len(found) == 1
    assert "writer" in found[0][1]
