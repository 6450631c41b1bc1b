"""Graphs observed on another engine, run in native mode: the same executions, whatever the timing.

Cases whose behaviour there is a defect or differs by decision (see their tags) are left out.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Graph
from tests.conformance.observed import compare_executions, run

FOLDER = Path(__file__).parent / "chatdev"
OTHER_RULES = ("exit_with_pending", "natural_end_with_pending", "stale_inputs", "inner_self_edge")


def _cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def _is_native(case: dict[str, Any]) -> bool:
    tags = case["tags"]
    return not any(tags.get(tag) for tag in OTHER_RULES) and "trigger:false" not in tags["features"]


RESULT_FROM_A_SINK = ("cd-019", "cd-213")
"""There, a silent `end` yields to any sink; here a run whose `end` is silent has no output."""

SILENT_INSIDE = ("cd-027", "cd-162")
"""There, a subgraph whose ends were silent emits an empty message; here it emits nothing."""

NATIVE = [
    case for case in _cases("cases.jsonl") if _is_native(case) and case["id"] not in SILENT_INSIDE
]


def test_all_native_cases_are_here() -> None:
    assert len(NATIVE) == 112


@pytest.mark.parametrize("case", NATIVE, ids=lambda case: case["id"])
def test_a_case_runs_as_observed(case: dict[str, Any]) -> None:
    result, steps, _ = asyncio.run(run(Graph.loads(case["yaml"]), case))
    compare_executions(steps, case)
    if case["expected"]["final"] and case["id"] not in RESULT_FROM_A_SINK:
        assert (result.status, result.output) == ("completed", case["expected"]["final"])
    else:
        assert (result.status, result.reason) == ("failed", "no_output")
