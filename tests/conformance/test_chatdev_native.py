"""Graphs observed on another engine, run in native mode: the same executions, whatever the timing.

Cases whose behaviour there is a defect or differs by decision (see their tags) are left out.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph

FOLDER = Path(__file__).parent / "chatdev"
OTHER_RULES = ("exit_with_pending", "natural_end_with_pending", "stale_inputs", "inner_self_edge")


def _cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def _is_native(case: dict[str, Any]) -> bool:
    tags = case["tags"]
    return not any(tags.get(tag) for tag in OTHER_RULES) and "trigger:false" not in tags["features"]


RESULT_FROM_A_SINK = ("cd-019", "cd-213")
"""There, a silent `end` yields to any sink; here a run whose `end` is silent has no output."""

NATIVE = [case for case in _cases("cases.jsonl") if _is_native(case)]


async def _run(case: dict[str, Any]) -> tuple[Any, list[Any]]:
    graph = Graph.loads(case["yaml"])
    answers = iter(case["human"])
    async with Engine(db=None) as engine:
        session = await engine.start(graph, case["prompt"])
        result = await session.settled()
        while result.status == "waiting":
            await session.answer(next(answers))
            result = await session.settled()
        return result, session.steps()


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


def test_all_native_cases_are_here() -> None:
    assert len(NATIVE) == 114


@pytest.mark.parametrize("case", NATIVE, ids=lambda case: case["id"])
def test_a_case_runs_as_observed(case: dict[str, Any]) -> None:
    result, steps = asyncio.run(_run(case))
    executions = _executions(steps)
    for node, expected in case["expected"]["nodes"].items():
        got = executions.pop(node, [])
        assert len(got) == len(expected), node
        for mine, theirs in zip(got, expected, strict=True):
            assert _as_expected(mine, theirs) == {side: theirs[side] for side in ("in", "out")}
    assert not executions
    if case["expected"]["final"] and case["id"] not in RESULT_FROM_A_SINK:
        assert (result.status, result.output) == ("completed", case["expected"]["final"])
    else:
        assert (result.status, result.reason) == ("failed", "no_output")
