"""Graphs observed on ChatDev, run by its rules: the same executions, the same result.

Left out are only the cases whose behaviour there is a defect (see their tags).
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from rondel import Engine, Graph, GraphError
from rondel.formats import translator
from rondel.formats.export import to_chatdev
from rondel.graph.positions import parse

FOLDER = Path(__file__).parent / "chatdev"
DEFECTS = ("stale_inputs", "inner_self_edge")


def _cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


CASES = [
    case
    for case in _cases("cases.jsonl") + _cases("seed_loop_counter.jsonl")
    if not any(case["tags"].get(tag) for tag in DEFECTS)
]
INVALID = _cases("invalid.jsonl")
ONLY_WHEN_ENTERED = ("several_loop_entries", "loop_entry_mismatch")


async def _run(graph: Graph, case: dict[str, Any]) -> tuple[Any, list[Any], int]:
    used = 0
    async with Engine(db=None) as engine:
        session = await engine.start(graph, case["prompt"])
        result = await session.settled()
        while result.status == "waiting":
            await session.answer(case["human"][used])
            used += 1
            result = await session.settled()
        return result, session.steps(), used


def _executions(steps: list[Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for step in steps:
        inputs = [[message["source"], message["content"]] for message in step.inputs]
        found[step.node_id].append({"in": inputs, "out": [m["content"] for m in step.outputs]})
    return found


def _as_expected(got: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    return {
        side: sorted(got[side]) if expected.get(f"{side}_unordered") else got[side]
        for side in ("in", "out")
    }


def _compare(graph: Graph, case: dict[str, Any]) -> None:
    result, steps, used = asyncio.run(_run(graph, case))
    executions = _executions(steps)
    for node, expected in case["expected"]["nodes"].items():
        got = executions.pop(node, [])
        assert len(got) == len(expected), node
        for mine, theirs in zip(got, expected, strict=True):
            assert _as_expected(mine, theirs) == {side: theirs[side] for side in ("in", "out")}
    assert not executions
    assert (result.status, result.output) == ("completed", case["expected"]["final"])
    assert used == case["expected"]["human_used"]


def test_all_cases_but_the_defects_are_here() -> None:
    assert len(CASES) == 209


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_runs_as_observed(case: dict[str, Any]) -> None:
    _compare(Graph.loads(case["yaml"], compat="chatdev"), case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_survives_the_way_to_native_yaml_and_back(case: dict[str, Any]) -> None:
    native = translator("chatdev")(parse(case["yaml"]), "").data
    written = yaml.safe_dump(native, allow_unicode=True, sort_keys=False)
    assert Graph.loads(written).document == native
    foreign = yaml.safe_dump(to_chatdev(native), allow_unicode=True, sort_keys=False)
    assert translator("chatdev")(parse(foreign), "").data == native


@pytest.mark.parametrize("case", CASES[::10], ids=lambda case: case["id"])
def test_a_case_imported_to_native_yaml_runs_as_observed(case: dict[str, Any]) -> None:
    native = translator("chatdev")(parse(case["yaml"]), "").data
    _compare(Graph.loads(yaml.safe_dump(native)), case)


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["error_kind"])
def test_an_invalid_graph_is_refused(case: dict[str, Any]) -> None:
    if case["error_kind"] in ONLY_WHEN_ENTERED:
        result, _, _ = asyncio.run(_run(Graph.loads(case["yaml"], compat="chatdev"), case))
        assert (result.status, result.reason) == ("failed", "two_entries")
        return
    with pytest.raises(GraphError) as caught:
        Graph.loads(case["yaml"], file="bad.yaml", compat="chatdev")
    assert all(problem.file == "bad.yaml" for problem in caught.value.problems)
    assert all(problem.line for problem in caught.value.problems)
