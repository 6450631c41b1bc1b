"""What an agent is shown besides its messages: the task, and what it said before in this loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, GraphError
from rondel.sessions.records import StepRecord
from tests.transcripts import Asked, recorded

TASK = ("user", "the task")


def agent(name: str, *answers: str, **config: Any) -> dict[str, Any]:
    script = list(answers) or [f"{name} {number}" for number in range(1, 10)]
    return {
        "id": name,
        "type": "agent",
        "config": {"provider": "scripted", "answers": script, **config},
    }


def writing(writer: dict[str, Any] | None = None, **contract: Any) -> dict[str, Any]:
    """Writer, Critic, and round again, three times."""
    return {
        "id": "writing",
        "start": "Writer",
        "loops": {"Writer": {"max_rounds": 3, **contract}},
        "nodes": [
            agent("Writer") if writer is None else writer,
            agent("Critic"),
            {"id": "Final", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Critic"},
            {"from": "Critic", "to": "Writer"},
            {"from": "Writer", "to": "Final", "label": "limit"},
        ],
    }


def asked(body: dict[str, Any], inputs: Any = "the task") -> dict[str, list[list[tuple[str, str]]]]:
    """What each agent was sent, call by call."""
    return by_node(calls_of(body, inputs))


def calls_of(body: dict[str, Any], inputs: Any = "the task") -> list[Asked]:
    with recorded() as calls:
        run(body, inputs)
    return calls


def by_node(calls: list[Asked]) -> dict[str, list[list[tuple[str, str]]]]:
    found: dict[str, list[list[tuple[str, str]]]] = {}
    for call in calls:
        found.setdefault(call.node, []).append(call.sent)
    return found


def run(body: dict[str, Any], inputs: Any = "the task") -> list[StepRecord]:
    async def main() -> list[StepRecord]:
        async with Engine(db=None) as engine:
            graph = Graph.from_document({"version": 1, "graph": {"breaker": "off", **body}})
            session = await engine.start(graph, inputs)
            result = await session.settled()
            assert result.status in ("completed", "bounded"), result.message
            return session.steps()

    return asyncio.run(main())


def said(*words: str) -> list[tuple[str, str]]:
    """Words of the assistant, but the last, which somebody else says."""
    return [("assistant", word) for word in words[:-1]] + [("user", words[-1])]


def test_a_writer_sees_task_draft_and_critique() -> None:
    first, second, third = asked(writing())["Writer"]
    assert first == [TASK]
    assert second == [TASK, *said("Writer 1", "Critic 1")]
    assert third == [TASK, *said("Writer 2", "Critic 2")]


@pytest.mark.parametrize(
    ("recall", "third"),
    [
        ({"own": 0}, [("user", "the task\n\nCritic 2")]),
        ({"own": 2}, [TASK, *said("Writer 1", "Writer 2", "Critic 2")]),
        ({"own": "all"}, [TASK, *said("Writer 1", "Writer 2", "Critic 2")]),
        ({"task": False, "own": 0}, [("user", "Critic 2")]),
        ({"task": False}, [("user", "Begin."), *said("Writer 2", "Critic 2")]),
    ],
)
def test_recall_can_be_set(recall: dict[str, Any], third: list[tuple[str, str]]) -> None:
    assert asked(writing(agent("Writer", recall=recall)))["Writer"][2] == third


@pytest.mark.parametrize("window", [1, 2, 4, -1])
def test_what_a_context_retains_is_not_shown_twice(window: int) -> None:
    for sent in asked(writing({**agent("Writer"), "context_window": window}))["Writer"]:
        texts = [text for _, text in sent]
        assert len(texts) == len(set(texts))
        assert sent[0][1].startswith("the task")


def test_a_kept_message_stands_before_the_draft() -> None:
    body = writing()
    body["start"] = "Brief"
    body["nodes"].append(agent("Brief", "be brief"))
    body["edges"].append({"from": "Brief", "to": "Writer", "keep_message": True})
    assert asked(body)["Writer"][2] == [
        ("user", "the task\n\nbe brief"),
        *said("Writer 2", "Critic 2"),
    ]


def test_a_task_that_was_passed_on_is_not_shown_twice() -> None:
    body = writing()
    body["start"] = "Start"
    body["nodes"].append({"id": "Start", "type": "passthrough"})
    body["edges"].append({"from": "Start", "to": "Writer"})
    assert asked(body)["Writer"][0] == [TASK]


def test_a_session_without_a_task_recalls_the_draft_alone() -> None:
    assert asked(writing(), {})["Writer"][1] == [("user", "Begin."), *said("Writer 1", "Critic 1")]


def test_inputs_without_a_task_are_recalled_as_the_start_node_saw_them() -> None:
    first, second, _ = asked(writing(), {"topic": "tea"})["Writer"]
    assert first == [("user", '{"topic":"tea"}')] == second[:1]


def test_an_agent_that_is_triggered_without_a_word_goes_on_from_its_own() -> None:
    body = writing()
    body["edges"][1]["carry_data"] = False
    assert asked(body)["Writer"][1] == [TASK, *said("Writer 1", "Go on.")]


def test_outside_loops_only_the_task_is_recalled() -> None:
    nodes = [agent("A"), agent("B")]
    body = {"id": "chain", "nodes": nodes, "edges": [{"from": "A", "to": "B"}]}
    assert asked(body)["B"] == [[("user", "the task\n\nA 1")]]


def test_a_new_entry_recalls_nothing_of_an_earlier_one() -> None:
    """Writer and Critic go round twice, inside a loop that goes round twice."""
    body = writing(max_rounds=2)
    body["start"] = "Plan"
    body["loops"]["Plan"] = {"max_rounds": 2}
    body["nodes"] += [agent("Plan"), agent("Judge")]
    body["edges"] = [
        {"from": "Plan", "to": "Writer"},
        *body["edges"][:2],
        {"from": "Writer", "to": "Judge", "label": "limit"},
        {"from": "Judge", "to": "Plan"},
        {"from": "Judge", "to": "Final", "label": "limit"},
    ]
    sent = asked(body)
    assert sent["Writer"][1] == [TASK, *said("Writer 1", "Critic 1")]
    assert sent["Writer"][2] == [("user", "the task\n\nPlan 2")]
    assert sent["Writer"][3] == [TASK, *said("Writer 3", "Critic 3")]
    assert sent["Plan"][1] == [TASK, *said("Plan 1", "Judge 1")]


def test_after_a_rollback_the_best_draft_is_recalled() -> None:
    body = writing(max_rounds=4, regression={"drop": 10, "action": "rollback"})
    scores = [70, 90, 50, 95]
    body["nodes"][1] = agent("Critic", *(f'so {s} {{"score": {s}}}' for s in scores))
    sent = asked(body)["Writer"]
    assert sent[3] == [TASK, *said("Writer 2", 'so 90 {"score": 90}')]


def test_inside_a_subgraph_the_task_is_the_sessions_and_the_loop_the_one_around() -> None:
    inner = {"id": "inner", "nodes": [agent("Pen")], "edges": []}
    writer = {"id": "Writer", "type": "subgraph", "config": {"graph": inner}}
    sent = asked(writing(writer))["Writer/Pen"]
    assert sent[0] == [TASK]
    assert sent[2] == [TASK, *said("Pen 2", "Critic 2")]


def test_after_a_rollback_agents_in_a_subgraph_recall_the_best_draft_too() -> None:
    inner = {"id": "inner", "nodes": [agent("Pen")], "edges": []}
    writer = {"id": "Writer", "type": "subgraph", "config": {"graph": inner}}
    body = writing(writer, max_rounds=4, regression={"drop": 10, "action": "rollback"})
    scores = [70, 90, 50, 95]
    body["nodes"][1] = agent("Critic", *(f'so {s} {{"score": {s}}}' for s in scores))
    assert asked(body)["Writer/Pen"][3][1] == ("assistant", "Pen 2")


def test_runs_of_a_dynamic_edge_recall_the_task_and_no_output() -> None:
    body = writing()
    split = {"type": "regex", "config": {"pattern": r"\w+"}}
    body["edges"][0]["dynamic"] = {"type": "map", "split": split}
    sent = [call for calls in [asked(body)["Critic"]] for call in calls]
    assert all(messages[0][1].startswith("the task\n\n") for messages in sent)
    assert all(role == "user" for messages in sent for role, _ in messages)


def test_the_steps_say_what_was_recalled() -> None:
    steps = {step.address: step for step in run(writing())}
    assert steps["Writer[1]/Writer"].recalled == []
    shown = [
        (each["source"], each["role"], each["content"])
        for each in steps["Writer[2]/Writer"].recalled
    ]
    assert shown == [("TASK", "user", "the task"), ("Writer", "assistant", "Writer 1")]
    assert steps["Final"].recalled == []


def test_the_event_of_a_step_that_begins_says_whose_words_were_recalled() -> None:
    async def main() -> list[Any]:
        async with Engine(db=None) as engine:
            graph = Graph.from_document({"version": 1, "graph": writing()})
            session = await engine.start(graph, "the task")
            await session.settled()
            return [event async for event in session.events()]

    began = {
        event.address: event.data
        for event in asyncio.run(main())
        if event.event == "node_state_change" and event.data["status"] == "running"
    }
    assert began["Writer[1]/Writer"] == {"status": "running"}
    assert began["Writer[2]/Writer"]["recalled"] == [
        {"source": "TASK", "role": "user"},
        {"source": "Writer", "role": "assistant"},
    ]


def test_a_prompt_holds_what_is_recalled_too() -> None:
    sent = asked(writing(agent("Writer", input_mode="prompt")))["Writer"][1]
    assert sent == [
        (
            "user",
            "=== TASK (user) ===\nthe task\n\n=== Writer (assistant) ===\nWriter 1\n\n"
            "=== Critic (assistant) ===\nCritic 1",
        )
    ]


def test_what_is_recalled_is_counted() -> None:
    def tokens(recall: dict[str, Any]) -> int:
        writer = {
            "id": "Writer",
            "type": "agent",
            "config": {"role": "You write.", "recall": recall},
        }
        steps = run(writing(writer))
        return next(s.usage.input_tokens for s in steps if s.address == "Writer[2]/Writer")

    assert tokens({}) > tokens({"own": 0}) > tokens({"own": 0, "task": False})


def test_after_a_restart_an_agent_recalls_what_it_said_before(tmp_path: Path) -> None:
    """The session waits for a person between two rounds; another process goes on."""
    body = writing()
    body["nodes"][1] = {"id": "Critic", "type": "human", "config": {"description": "Well?"}}
    graph = Graph.from_document({"version": 1, "graph": body})
    database = tmp_path / "r.db"

    async def begin() -> str:
        async with Engine(db=database) as engine:
            session = await engine.start(graph, "the task")
            await session.settled()
            await session.answer("longer")
            await session.settled()
            return session.id

    async def go_on(id: str) -> None:
        async with Engine(db=database) as engine:
            session = engine.get(id)
            await session.answer("even longer")
            await session.settled()

    id = asyncio.run(begin())
    with recorded() as calls:
        asyncio.run(go_on(id))
    assert by_node(calls)["Writer"] == [[TASK, *said("Writer 2", "even longer")]]


def test_a_foreign_dialect_recalls_nothing_unless_asked() -> None:
    body = {**writing(), "dialect": "chatdev"}
    body["loops"] = {}
    body["edges"][2].pop("label")
    body["edges"][1]["condition"] = {"type": "keyword", "config": {"none": ["Critic 3"]}}
    body["edges"][2] = {
        "from": "Critic",
        "to": "Final",
        "condition": {"type": "keyword", "config": {"any": ["Critic 3"]}},
    }
    assert asked(body)["Writer"][1] == [("user", "Critic 1")]
    body["nodes"][0]["config"]["recall"] = {}
    assert asked(body)["Writer"][1] == [TASK, *said("Writer 1", "Critic 1")]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"recall": {"own": -1}}, "recall"),
        ({"recall": {"own": "some"}}, "recall"),
        ({"recall": {"tsak": True}}, "tsak"),
    ],
)
def test_a_recall_that_is_none_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        run(writing(agent("Writer", **config)))


def test_agents_inside_a_vote_have_no_recall() -> None:
    voter = {"role": "You vote.", "recall": {"own": 0}}
    vote = {"id": "Vote", "type": "vote", "config": {"agents": {"Ann": voter}}}
    with pytest.raises(GraphError, match="drop recall"):
        run({"id": "g", "nodes": [vote], "edges": []})
