"""Council's `fact_check` is the node type of that name: it checks, and nothing else changes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, GraphError

OPTIMIZE = Path(__file__).parents[2] / "fixtures" / "council" / "optimize.json"
TEXTS = ["red apples fall", "blue whales sing", "green tea steams"]


def _claims(confidence: float) -> dict[str, Any]:
    claim = {"claim": "Apples fall.", "verified": True, "confidence": confidence, "sources": []}
    return {"data": {"claims": [claim]}}


def _workflow(check: dict[str, Any], next_ids: list[str]) -> dict[str, Any]:
    return {
        "start_node_id": "s",
        "nodes": {
            "s": {"type": "start", "next_ids": ["writer"]},
            "writer": {
                "type": "agent",
                "next_ids": ["check"],
                "properties": {"prompt": "You write."},
            },
            "check": {"type": "fact_check", "next_ids": next_ids, "properties": check},
            "gate": {
                "type": "loop",
                "next_ids": ["writer", "e"],
                "properties": {"max_rounds": 2},
            },
            "note": {"type": "agent", "next_ids": ["gate"], "properties": {"prompt": "Note it."}},
            "e": {"type": "end"},
        },
    }


def _loaded(check: dict[str, Any], next_ids: list[str], confidence: float) -> Graph:
    workflow = _workflow(check, next_ids)
    if "note" not in next_ids:
        del workflow["nodes"]["note"]
    graph = Graph.loads(json.dumps(workflow), compat="council")
    return graph.with_changes(
        {
            "nodes.writer.config.provider": "scripted",
            "nodes.writer.config.answers": TEXTS,
            "nodes.check.config.agent.provider": "scripted",
            "nodes.check.config.agent.answers": [_claims(confidence)],
        }
    )


async def _run(graph: Graph, answers: tuple[str, ...] = ()) -> tuple[Any, list[Any]]:
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "the original")
        result = await session.settled()
        for answer in answers:
            await session.answer(answer)
            result = await session.settled()
        return result, session.steps()


def _outputs(steps: list[Any], node: str) -> list[dict[str, Any]]:
    return [step.outputs[-1] for step in steps if step.node_id == node]


@pytest.mark.parametrize(("confidence", "verified"), [(0.9, True), (0.7, False)])
def test_claims_are_verified_by_the_threshold_of_the_file(
    confidence: float, verified: bool
) -> None:
    graph = _loaded({"verify_threshold": 0.8}, ["gate"], confidence)
    result, steps = asyncio.run(_run(graph))
    assert [said["data"]["verified"] for said in _outputs(steps, "check")] == [verified] * 2
    assert result.status == "completed"


def test_the_check_is_not_the_next_rounds_document() -> None:
    result, steps = asyncio.run(_run(_loaded({}, ["gate"], 0.9)))
    inputs = [step.inputs[-1]["content"] for step in steps if step.node_id == "writer"]
    assert inputs == ["the original", TEXTS[0]]
    assert result.output == TEXTS[1]


def test_all_that_follows_a_check_does_so_whatever_it_says() -> None:
    _, steps = asyncio.run(_run(_loaded({}, ["note", "gate"], 0.1)))
    ran = [step.node_id for step in steps]
    assert ran.count("note") == ran.count("gate") == 2


def test_a_check_before_the_review_leaves_the_surgeons_text_the_document() -> None:
    workflow = json.loads(OPTIMIZE.read_text("utf-8"))
    workflow["nodes"]["surgeon"]["next_ids"] = ["check"]
    check = {"type": "fact_check", "next_ids": ["human_review"], "properties": {"max_queries": 3}}
    workflow["nodes"]["check"] = check
    graph = Graph.loads(json.dumps(workflow), compat="council").with_changes(
        {
            "nodes.surgeon.config.provider": "scripted",
            "nodes.surgeon.config.answers": TEXTS,
            "nodes.adjudicator.config.score": {"start": 85, "step": 5},
            "nodes.check.config.agent.provider": "scripted",
            "nodes.check.config.agent.answers": [_claims(0.9)],
        }
    )
    result, steps = asyncio.run(_run(graph, ("apply", "apply")))
    documents = [said["content"] for said in _outputs(steps, "memory_retrieval")]
    assert (documents, result.output) == (["the original", TEXTS[0]], TEXTS[1])
    assert result.loops[0].exit_reason == "score_threshold_reached"
    assert all(said["data"]["verified"] for said in _outputs(steps, "check"))


def test_a_wrong_threshold_has_its_own_line() -> None:
    text = json.dumps(_workflow({"verify_threshold": 80}, ["gate"]), indent=2)
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "verify_threshold" in words)
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, file="bad.json", compat="council")
    [problem] = caught.value.problems
    assert (problem.line, problem.path) == (line, "nodes.check.properties.verify_threshold")
