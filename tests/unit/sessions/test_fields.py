"""Those who check types are told of a mistyped key, and what is allowed is what a file allows."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from rondel import Context, Graph, run
from rondel.graph import schema
from rondel.sessions import fields

PAIRS = [
    (fields.RetryFields, schema.Retry, ()),
    (fields.NodeFields, schema.Node, ("id", "type", "config")),
    (fields.EdgeFields, schema.Edge, ("from", "to")),
    (fields.DynamicFields, schema.Dynamic, ()),
    (fields.DynamicConfigFields, schema.DynamicConfig, ()),
    (fields.CallFields, schema.ConditionCall, ()),
    (fields.ScoreFields, schema.ScorePlace, ()),
    (fields.PatienceFields, schema.Patience, ()),
    (fields.RegressionFields, schema.Regression, ()),
    (fields.BudgetFields, schema.Budget, ()),
    (fields.LimitFields, schema.Limits, ()),
    (fields.WindowFields, schema.Window, ()),
    (fields.LoopFields, schema.Loop, ()),
    (fields.BreakerFields, schema.Breaker, ()),
    (fields.MemoryFields, schema.MemoryRules, ()),
]


@pytest.mark.parametrize(("typed", "model", "apart"), PAIRS)
def test_the_keys_are_those_of_a_file(typed: Any, model: Any, apart: tuple[str, ...]) -> None:
    known = {field.alias or name for name, field in model.model_fields.items()} - {*apart}
    hints = get_type_hints(typed, include_extras=True)
    assert set(hints) == known
    for name, field in model.model_fields.items():
        allowed = {*_texts(field.annotation)}
        if allowed and name in hints:
            assert {*_texts(hints[name])} == allowed, name


def _texts(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if isinstance(value, str)]
    return [text for part in get_args(annotation) for text in _texts(part)]


SNIPPET = """
from rondel import Context, Graph

graph = Graph("refine")

@graph.node(retry={"max_attempts": 3}, timeout="90s")
def writer(inp: Context) -> str:
    return inp.text

graph.edge("writer", "writer", when=lambda m: m.data["score"] < 90, label="continue")
graph.edge("writer", "writer", when="data.score >= 90")
graph.loop("writer", max_rounds=5, exit_on_score=90, budget={"usd": 0.1})
graph.limits(max_steps=10, wall_time="1h")
"""
WRONG = {
    'graph.loop("writer", max_round=5)': "max_round",
    'graph.loop("writer", max_rounds="five")': "max_rounds",
    'graph.loop("writer", budget={"dollars": 1})': "dollars",
    'graph.loop("writer", on_limit="bets")': "on_limit",
    'graph.edge("writer", "writer", lable="x")': "lable",
    'graph.add("x", "literal", {}, time_out=3)': "time_out",
    "graph.limits(max_step=3)": "max_step",
    "graph.breaker(repeat=3)": "repeat",
}


def test_a_mistyped_key_is_a_type_error(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET + "\n".join(WRONG), "utf-8")
    first = SNIPPET.count("\n") + 1
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--output", "json"]
    cache = ["--config-file", "", "--cache-dir", str(tmp_path / "cache")]
    checked = subprocess.run(
        [*command, *cache, str(file)], capture_output=True, text=True, check=False
    )
    found = [json.loads(line) for line in checked.stdout.splitlines()]
    told = {error["line"]: error["message"] for error in found if error["severity"] == "error"}
    assert {*told} == {*range(first, first + len(WRONG))}, checked.stdout + checked.stderr
    for line, name in enumerate(WRONG.values(), first):
        assert name in told[line]


def test_whoever_changes_what_a_node_was_given_is_told_what_to_do() -> None:
    graph = Graph("g")

    @graph.node
    def critic(inp: Context) -> None:
        inp.data["score"] = 90

    result = run(graph, {"task": "x"})
    assert result.status == "failed"
    assert "never changed; return what it hands on" in result.message
    assert "return {**inp.data, 'score': 90}" in result.message


def test_what_a_node_was_given_can_be_handed_on_copied_and_added_to() -> None:
    graph = Graph("g")

    @graph.node
    def first(inp: Context) -> dict[str, Any]:
        return {"list": [1]}

    @graph.node
    def second(inp: Context) -> dict[str, Any]:
        mine = copy.deepcopy(inp.data)
        mine["list"].append(2)
        assert pickle.loads(pickle.dumps(inp.data)) == inp.data
        return {**inp.data, "mine": mine["list"], "all": inp.data | {"more": 1}}

    @graph.node
    def third(inp: Context) -> dict[str, Any]:
        return inp.data

    graph.edge("first", "second")
    graph.edge("second", "third")
    result = run(graph, "x")
    assert result.status == "completed", result.message
    assert result.data["list"] == [1]
    assert result.data["mine"] == [1, 2]
    assert result.data["all"] == {"list": [1], "more": 1}
