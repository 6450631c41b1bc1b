"""Council's JSON: its two workflows run to their end, and what is wrong is told by line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, GraphError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "council"
EXAMPLES = Path(__file__).parents[3] / "examples"
TEXTS = ["red apples fall", "blue whales sing", "green tea steams", "grey clocks strike", "done"]


def _optimize(source: str, step: int = 10) -> Graph:
    """The workflow, with a surgeon whose texts can be told apart."""
    if source == "council":
        graph, head = Graph.load(FIXTURES / "optimize.json", compat="council"), "adjudicator"
    else:
        graph, head = Graph.load(EXAMPLES / "11_council_optimize" / "graph.yaml"), "adjudicator"
    changes = {
        f"nodes.{head}.config.score": {"start": 60, "step": step},
        "nodes.surgeon.config.provider": "scripted",
        "nodes.surgeon.config.answers": TEXTS,
    }
    return graph.with_changes(changes)


async def _run(graph: Graph, answers: list[str]) -> tuple[Any, list[str], list[Any]]:
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "the original")
        result = await session.settled()
        for answer in answers:
            await session.answer(answer)
            result = await session.settled()
        steps = session.steps()
        documents = [s.outputs[-1]["content"] for s in steps if s.node_id == "memory_retrieval"]
        return result, documents, steps


def test_the_debate_runs_to_its_end() -> None:
    graph = Graph.load(FIXTURES / "debate.json", compat="council")
    result = asyncio.run(Engine(db=None).run(graph, "the original"))
    assert result.status == "completed"
    assert result.usage.model_calls == 3


def test_the_adjudicator_hears_the_document_and_both_sides() -> None:
    graph = Graph.load(FIXTURES / "debate.json", compat="council")

    async def run() -> list[Any]:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "the original")
            await session.settled()
            return session.steps()

    step = next(s for s in asyncio.run(run()) if s.node_id == "adjudicator")
    assert [message["source"] for message in step.inputs] == ["start", "affirmative", "negative"]


PATHS = {
    "the score of the adjudicator reaches the loop": (
        ["apply"] * 4,
        ["the original", *TEXTS[:3]],
        TEXTS[3],
        "score_threshold_reached",
    ),
    "apply takes the surgeon's text": (
        ["apply", "exit"],
        ["the original", TEXTS[0]],
        TEXTS[0],
        "condition_met",
    ),
    "continue goes on with the document as it was": (
        ["apply", "continue", "exit"],
        ["the original", TEXTS[0], TEXTS[0]],
        TEXTS[0],
        "condition_met",
    ),
    "exit ends with the document as it is": (
        ["exit"],
        ["the original"],
        "the original",
        "condition_met",
    ),
    "rollback goes back to the round before": (
        ["apply", "apply", "rollback", "exit"],
        ["the original", TEXTS[0], TEXTS[1], TEXTS[0]],
        TEXTS[0],
        "score_threshold_reached",
    ),
    "rollback in the first round keeps the document": (
        ["rollback", "exit"],
        ["the original", "the original"],
        "the original",
        "condition_met",
    ),
}


@pytest.mark.parametrize("source", ["council", "example"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_reviewer_is_obeyed(source: str, path: tuple[list[str], list[str], str, str]) -> None:
    answers, documents, output, reason = path
    result, found, _ = asyncio.run(_run(_optimize(source), answers))
    assert (found, result.output, result.status) == (documents, output, "completed")
    assert result.loops[0].exit_reason == reason


@pytest.mark.parametrize("source", ["council", "example"])
def test_a_document_that_is_never_good_enough_goes_round_five_times(source: str) -> None:
    result, documents, _ = asyncio.run(_run(_optimize(source, step=1), ["apply"] * 5))
    assert len(documents) == 5
    assert (result.status, result.output) == ("bounded", TEXTS[4])
    assert result.loops[0].exit_reason == "max_rounds_reached"


def _problems(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, file="bad.json", compat="council")
    return [(problem.line, problem.path) for problem in caught.value.problems]


def test_what_is_wrong_has_the_lines_and_paths_of_the_council_file() -> None:
    text = """{
  "start_node_id": "begin",
  "nodes": {
    "start": {"type": "start", "next_ids": ["nowhere"]},
    "gate": {
      "type": "loop",
      "next_ids": ["start", "end"],
      "properties": {
        "max_rounds": 0.5
      }
    },
    "odd": {"type": "llm"},
    "end": {"type": "end"}
  }
}"""
    assert _problems(text) == [
        (2, "start_node_id"),
        (4, "nodes.start.next_ids[0]"),
        (9, "nodes.gate.properties.max_rounds"),
        (12, "nodes.odd.type"),
    ]


def test_a_file_that_is_no_workflow_is_refused() -> None:
    assert _problems("[1]") == [(1, "")]


def test_a_vote_leads_to_its_first_next_node_when_it_passes() -> None:
    workflow = {
        "start_node_id": "s",
        "nodes": {
            "s": {"type": "start", "next_ids": ["v"]},
            "v": {
                "type": "vote",
                "next_ids": ["yes", "no"],
                "properties": {"threshold": 0.6, "agents": ["A", "B"]},
            },
            "yes": {"type": "end"},
            "no": {"type": "end"},
        },
    }
    graph = Graph.loads(json.dumps(workflow), compat="council")
    edges = {edge.label: edge.target for edge in graph.spec.edges if edge.source == "v"}
    assert edges == {"pass": "yes", "reject": "no"}


def test_a_loop_without_a_reviewer_hands_on_what_its_last_agent_wrote() -> None:
    workflow = {
        "start_node_id": "s",
        "nodes": {
            "s": {"type": "start", "next_ids": ["w"]},
            "w": {"type": "agent", "next_ids": ["l"], "properties": {"prompt": "Write."}},
            "l": {"type": "loop", "next_ids": ["w", "e"], "properties": {"max_rounds": 3}},
            "e": {"type": "end"},
        },
    }
    graph = Graph.loads(json.dumps(workflow), compat="council")
    answers = {"nodes.w.config.provider": "scripted", "nodes.w.config.answers": TEXTS}
    result = asyncio.run(Engine(db=None).run(graph.with_changes(answers), "the original"))
    assert (result.status, result.output) == ("completed", TEXTS[2])


def test_a_join_waits_for_settled_branches_and_not_for_dead_ones() -> None:
    workflow = {
        "start_node_id": "s",
        "nodes": {
            "s": {"type": "start", "next_ids": ["v", "other"]},
            "v": {
                "type": "vote",
                "next_ids": ["yes", "no"],
                "properties": {"threshold": 0.5, "agents": ["A"]},
            },
            "yes": {"type": "agent", "next_ids": ["join"], "properties": {"prompt": "Cheer."}},
            "no": {"type": "agent", "next_ids": ["join"], "properties": {"prompt": "Mourn."}},
            "other": {"type": "agent", "next_ids": ["join"], "properties": {"prompt": "Talk."}},
            "join": {"type": "agent", "next_ids": ["e"], "properties": {"prompt": "Sum up."}},
            "e": {"type": "end"},
        },
    }
    vote = [{"data": {"decision": "yes", "score": 9, "reasoning": "Good."}}]
    changes = {
        "nodes.v.config.agents.A.provider": "scripted",
        "nodes.v.config.agents.A.answers": vote,
    }
    graph = Graph.loads(json.dumps(workflow), compat="council").with_changes(changes)
    result, _, steps = asyncio.run(_run(graph, []))
    assert result.status == "completed"
    [join] = [step for step in steps if step.node_id == "join"]
    sources = [message["source"] for message in join.inputs]
    assert sorted(sources) == ["other", "s", "yes"]
    assert "no" not in [step.node_id for step in steps if step.status == "completed"]


def test_an_edge_back_to_the_head_is_no_part_of_its_join() -> None:
    result, documents, steps = asyncio.run(_run(_optimize("council"), ["apply", "exit"]))
    heads = [step.address for step in steps if step.node_id == "memory_retrieval"]
    assert heads == ["memory_retrieval[1]/memory_retrieval", "memory_retrieval[2]/memory_retrieval"]
    assert len(documents) == 2
    assert result.loops[0].rounds == 2


def _workflow(nodes: dict[str, Any]) -> str:
    return json.dumps({"workflow_uuid": "w-1", "start_node_id": "s", "nodes": nodes})


def test_a_vote_that_names_nobody_polls_the_agents_before_it() -> None:
    text = _workflow(
        {
            "s": {"type": "start", "next_ids": ["a", "b"]},
            "a": {"type": "agent", "next_ids": ["v"], "properties": {"system_prompt": "Be kind."}},
            "b": {"type": "agent", "next_ids": ["v"], "properties": {"system_prompt": "Be hard."}},
            "v": {"type": "vote", "next_ids": ["e"], "properties": {"threshold": 0.5}},
            "e": {"type": "end"},
        }
    )
    graph = Graph.loads(text, compat="council")
    assert graph.id == "w-1"
    [vote] = [node for node in graph.document["graph"]["nodes"] if node["type"] == "vote"]
    roles = {name: agent["role"] for name, agent in vote["config"]["agents"].items()}
    assert roles == {"a": "Be kind.", "b": "Be hard."}


@pytest.mark.parametrize("reviews", [["r"], ["r", "q"]])
def test_a_review_outside_a_loop_hands_on_the_text_and_not_the_answer(reviews: list[str]) -> None:
    after = {name: {"type": "human_review", "next_ids": []} for name in reviews}
    for name, following in zip(reviews, [*reviews[1:], "e"], strict=True):
        after[name]["next_ids"] = [following]
    nodes = {"s": {"type": "start", "next_ids": ["r"]}, **after, "e": {"type": "end"}}
    graph = Graph.loads(_workflow(nodes), compat="council")
    result, _, _ = asyncio.run(_run(graph, ["continue"] * len(reviews)))
    assert (result.status, result.output) == ("completed", "the original")


def test_what_an_agent_loses_is_told_by_name() -> None:
    properties = {"system_prompt": "x", "output_format": "json", "tools": ["web"]}
    nodes = {
        "s": {"type": "start", "next_ids": ["a"]},
        "a": {"type": "agent", "next_ids": ["e"], "properties": properties},
        "e": {"type": "end", "properties": {"system_prompt": "Sum up."}},
    }
    told = [warning.message for warning in Graph.loads(_workflow(nodes), compat="council").warnings]
    assert [message.split(" ")[0] for message in told if "is lost" in message] == [
        "'tools'",
        "'output_format'",
    ]


def _agents(*names: str, then: str) -> dict[str, Any]:
    """Agents that begin side by side."""
    return {
        "s": {"type": "start", "next_ids": list(names)},
        **{
            name: {"type": "agent", "next_ids": [then], "properties": {"system_prompt": "Vote."}}
            for name in names
        },
    }


@pytest.mark.parametrize("decision", ["yes", "no"])
def test_all_that_follows_a_vote_without_voters_does_so_whatever_it_says(decision: str) -> None:
    nodes = {
        **_agents("a", "b", then="wait"),
        "wait": {"type": "parallel", "next_ids": ["v"]},
        "v": {"type": "vote", "next_ids": ["e", "note"]},
        "note": {"type": "agent", "next_ids": ["e"], "properties": {"system_prompt": "Note."}},
        "e": {"type": "end"},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    ballot = [{"data": {"decision": decision, "score": None, "reasoning": "So it is."}}]
    changes = {
        f"nodes.v.config.agents.{name}.{key}": value
        for name in ("a", "b")
        for key, value in {"provider": "scripted", "answers": ballot}.items()
    }
    result, _, steps = asyncio.run(_run(graph.with_changes(changes), []))
    assert result.status == "completed"
    [vote] = [step for step in steps if step.node_id == "v"]
    assert vote.outputs[-1]["data"]["passed"] is (decision == "yes")
    assert {"note", "e"} <= {step.node_id for step in steps if step.status == "completed"}


def test_a_vote_with_nobody_to_poll_passes_as_there() -> None:
    nodes = {
        "s": {"type": "start", "next_ids": ["v"]},
        "v": {"type": "vote", "next_ids": ["e"]},
        "e": {"type": "end"},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    result, _, _ = asyncio.run(_run(graph, []))
    assert (result.status, result.output) == ("completed", "the original")
    assert any("nobody to poll" in warning.message for warning in graph.warnings)


VERDICTS = {
    "in a block of JSON": {
        "content": '# Verdict\n```json\n{"score": {"weighted_total": 91}, "verdict": "ok"}\n```'
    },
    "as data": {"data": {"score": {"weighted_total": 91}, "verdict": "ok"}},
}


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_a_structured_verdict_ends_the_loop(verdict: dict[str, Any]) -> None:
    judge = {"agent_id": "system_adjudicator"}
    nodes = {
        "s": {"type": "start", "next_ids": ["j"]},
        "j": {"type": "agent", "next_ids": ["l"], "properties": judge},
        "l": {
            "type": "loop",
            "next_ids": ["j", "e"],
            "properties": {"max_rounds": 5, "exit_on_score": 90},
        },
        "e": {"type": "end"},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    answers = [{"content": "the score is missing"}, verdict]
    scripted = {"nodes.j.config.provider": "scripted", "nodes.j.config.answers": answers}
    result, _, _ = asyncio.run(_run(graph.with_changes(scripted), []))
    [loop] = result.loops
    assert (loop.rounds, loop.exit_reason, loop.value) == (2, "score_threshold_reached", 91)


def test_an_agent_that_gives_structured_verdicts_answers_by_their_schema() -> None:
    properties = {"system_prompt": "Judge.", "output_format": "structured_verdict"}
    nodes = {
        "s": {"type": "start", "next_ids": ["j"]},
        "j": {"type": "agent", "next_ids": ["e"], "properties": properties},
        "e": {"type": "end"},
    }
    _, _, steps = asyncio.run(_run(Graph.loads(_workflow(nodes), compat="council"), []))
    [judged] = [step for step in steps if step.node_id == "j"]
    assert 0 <= judged.outputs[-1]["data"]["score"]["weighted_total"] <= 100


def test_what_a_persona_holds_is_the_agents() -> None:
    properties = {
        "agent_uuid": "6ba7b810",
        "persona_prompt": "You are strict.",
        "model_config": {"provider": "openai", "model": "gpt-4o", "temperature": 0.2},
    }
    nodes = {
        "s": {"type": "start", "next_ids": ["a"]},
        "a": {"type": "agent", "next_ids": ["e"], "properties": properties},
        "e": {"type": "end"},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    [agent] = [node for node in graph.document["graph"]["nodes"] if node["id"] == "a"]
    assert agent["config"]["role"] == "You are strict."
    assert (agent["config"]["provider"], agent["config"]["name"]) == ("openai", "gpt-4o")
    assert agent["config"]["params"] == {"temperature": 0.2}


@pytest.mark.parametrize("key", ["system_prompt", "summary_prompt"])
def test_an_end_with_a_prompt_writes_the_report_and_one_without_says_so(key: str) -> None:
    nodes = {
        "s": {"type": "start", "next_ids": ["e"]},
        "e": {"type": "end", "properties": {key: "Sum it up."}},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    [end] = [node for node in graph.document["graph"]["nodes"] if node["id"] == "e"]
    assert (end["type"], end["config"]["role"]) == ("agent", "Sum it up.")
    silent = Graph.loads(_workflow({**nodes, "e": {"type": "end"}}), compat="council")
    assert ["writes no report: behaviour is lost" in told.message for told in silent.warnings] == [
        True
    ]


def test_a_reviewer_is_offered_the_actions_of_the_file() -> None:
    properties = {"actions": ["exit", "apply", "merge"], "show_score": True}
    nodes = {
        "s": {"type": "start", "next_ids": ["r"]},
        "r": {"type": "human_review", "next_ids": ["e"], "properties": properties},
        "e": {"type": "end"},
    }
    graph = Graph.loads(_workflow(nodes), compat="council")
    [review] = [node for node in graph.document["graph"]["nodes"] if node["id"] == "r"]
    assert review["config"]["actions"] == ["apply", "exit"]
    assert any("'merge'" in told.message for told in graph.warnings)
