"""What was observed on ChatDev, and the comparison of a run with it."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from rondel import Engine, Graph

FOLDER = Path(__file__).parent / "chatdev"
DEFECTS = ("stale_inputs", "inner_self_edge")


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


CASES = [
    case
    for case in cases("cases.jsonl") + cases("seed_loop_counter.jsonl")
    if not any(case["tags"].get(tag) for tag in DEFECTS)
]
INVALID = cases("invalid.jsonl")


async def run(graph: Graph, case: dict[str, Any]) -> tuple[Any, list[Any], int]:
    """The result, the steps, and how many answers were used."""
    used = 0
    async with Engine(db=None) as engine:
        session = await engine.start(graph, case["prompt"])
        result = await session.settled()
        while result.status == "waiting":
            await session.answer(case["human"][used])
            used += 1
            result = await session.settled()
        return result, session.steps(), used


def executions(steps: list[Any]) -> dict[str, list[dict[str, Any]]]:
    """What each node saw and said, execution by execution."""
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


def compare(graph: Graph, case: dict[str, Any]) -> None:
    """Assert that the graph runs as observed."""
    result, steps, used = asyncio.run(run(graph, case))
    compare_executions(steps, case)
    assert (result.status, result.output) == ("completed", case["expected"]["final"])
    assert used == case["expected"]["human_used"]


def compare_executions(steps: list[Any], case: dict[str, Any]) -> None:
    """Assert that the nodes did what they were observed to do, and no others."""
    found = executions(steps)
    for node, expected in case["expected"]["nodes"].items():
        got = found.pop(node, [])
        assert len(got) == len(expected), node
        for mine, theirs in zip(got, expected, strict=True):
            assert _as_expected(mine, theirs) == {side: theirs[side] for side in ("in", "out")}
    assert not found
