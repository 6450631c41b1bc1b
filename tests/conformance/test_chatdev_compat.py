"""Graphs observed on ChatDev, run by its rules: the same executions, the same result.

Left out are only the cases whose behaviour there is a defect (see their tags).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rondel import Graph, GraphError
from tests.conformance.observed import CASES, INVALID, compare, run

ONLY_WHEN_ENTERED = ("several_loop_entries", "loop_entry_mismatch")


def test_all_cases_but_the_defects_are_here() -> None:
    assert len(CASES) == 209


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_runs_as_observed(case: dict[str, Any]) -> None:
    compare(Graph.loads(case["yaml"], compat="chatdev"), case)


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["error_kind"])
def test_an_invalid_graph_is_refused(case: dict[str, Any]) -> None:
    if case["error_kind"] in ONLY_WHEN_ENTERED:
        result, _, _ = asyncio.run(run(Graph.loads(case["yaml"], compat="chatdev"), case))
        assert (result.status, result.reason) == ("failed", "two_entries")
        return
    with pytest.raises(GraphError) as caught:
        Graph.loads(case["yaml"], file="bad.yaml", compat="chatdev")
    assert all(problem.file == "bad.yaml" for problem in caught.value.problems)
    assert all(problem.line for problem in caught.value.problems)
