"""Contexts that get too long: all but the task and the newest rounds becomes a summary."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.certificate.certificate import certify
from rondel.nodes.compaction import HEADING, ROLE
from tests.transcripts import Asked, recorded
from tests.unit.nodes.running import problems

DRAFTS = [f"Draft {number}. " + "word " * 40 for number in range(1, 21)]
ROUNDS = 8


def writing(rounds: int = ROUNDS, window: int = -1, **writer: Any) -> dict[str, Any]:
    compact = {"over_tokens": 300, "agent": summariser(), **writer.pop("compact", {})}
    config = {"provider": "scripted", "answers": DRAFTS, "compact": compact, **writer}
    critiques = [f"Critique {number}." for number in range(1, 21)]
    return {
        "id": "writing",
        "start": "Writer",
        "loops": {"Writer": {"max_rounds": rounds}},
        "nodes": [
            {"id": "Writer", "type": "agent", "config": config, "context_window": window},
            {
                "id": "Critic",
                "type": "agent",
                "config": {"provider": "scripted", "answers": critiques},
            },
            {"id": "Final", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Critic"},
            {"from": "Critic", "to": "Writer"},
            {"from": "Writer", "to": "Final", "label": "limit"},
        ],
    }


def summariser(**config: Any) -> dict[str, Any]:
    answers = [f"Summary {number}." for number in range(1, 21)]
    return {"provider": "scripted", "answers": answers, **config}


async def calls_of(body: dict[str, Any]) -> tuple[list[Asked], list[Asked], Any]:
    """What the writer and its summariser were sent, and the session."""
    with recorded() as calls:
        async with Engine(db=None) as engine:
            session = await engine.start(
                Graph.from_document({"version": 1, "graph": {"breaker": "off", **body}}), "the task"
            )
            result = await session.settled()
            assert result.status == "completed", result
            events = [event async for event in session.events()]
    written = [call for call in calls if call.answer.startswith("Summary")]
    writer = [call for call in calls if call.node == "Writer" and call not in written]
    return writer, written, events


def tokens(call: Asked) -> int:
    return sum(len(text) // 4 for _, text in call.sent)


async def test_what_is_shown_stays_short_and_the_task_stays_first() -> None:
    writer, written, events = await calls_of(writing(20))
    assert len(writer) == 20
    assert max(map(tokens, writer)) <= 300
    assert all(call.sent[0][1].startswith("the task") for call in writer)
    assert 1 < len(written) < 10
    told = [event for event in events if event.event == "context_compacted"]
    assert [event.data["summary"] for event in told] == [call.answer for call in written]
    assert all(event.data["tokens"] > 300 for event in told)


async def test_the_newest_rounds_are_shown_word_for_word_after_the_summary() -> None:
    writer, written, _ = await calls_of(writing())
    first = next(call for call in writer if HEADING in call.sent[0][1])
    assert first.sent[0] == ("user", f"the task\n\n{HEADING}\n\nSummary 1.\n\nCritique 4.")
    assert [text for _, text in first.sent[1:]] == [
        DRAFTS[4],
        "Critique 5.",
        DRAFTS[5],
        "Critique 6.",
    ]
    assert written[0].sent[0] == ("system", ROLE)
    covered = written[0].sent[1][1]
    assert "the task" in covered
    assert "Draft 4." in covered
    assert "Draft 5." not in covered


async def test_each_round_is_summed_up_once() -> None:
    _, written, _ = await calls_of(writing(20))
    for number in range(1, 10):
        read = [call for call in written if f"Draft {number}." in call.sent[1][1]]
        assert len(read) == 1, number
    assert "Summary 1." in written[1].sent[1][1]


async def test_between_two_summaries_what_was_sent_before_is_the_beginning_of_what_is_sent() -> (
    None
):
    writer, _, _ = await calls_of(writing(20))
    grown = sum(after.sent[: len(before.sent)] == before.sent for before, after in pairwise(writer))
    assert grown >= 12


async def test_a_context_that_fits_is_left_alone() -> None:
    writer, written, _ = await calls_of(writing(compact={"over_tokens": 5000}))
    assert not written
    assert len(writer[-1].sent) == 2 * ROUNDS - 1


async def test_it_works_on_what_an_agent_recalls_too() -> None:
    writer, written, _ = await calls_of(writing(20, window=0, recall={"own": "all"}))
    assert written
    assert max(map(tokens, writer)) <= 300


async def test_without_an_agent_its_own_model_writes() -> None:
    body = writing(compact={"over_tokens": 300, "agent": None})
    _, written, events = await calls_of(body)
    assert not written  # nobody says Summary: it is the writer's own script
    assert [event for event in events if event.event == "context_compacted"]


async def test_what_the_summary_took_is_in_the_ledger_and_the_certificate() -> None:
    usage = {"input_tokens": 500, "output_tokens": 20}
    agent = summariser(answers=[{"content": "Summary.", "usage": usage}])
    _, written, events = await calls_of(writing(compact={"agent": agent}))
    spent = [event.data for event in events if event.event == "token_usage"]
    assert sum(each["input_tokens"] == 500 for each in spent) == len(written) > 0
    plain = writing()
    del plain["nodes"][0]["config"]["compact"]
    assert calls_at_most(writing()) == calls_at_most(plain) + ROUNDS


def calls_at_most(body: dict[str, Any]) -> int:
    graph = Graph.from_document({"version": 1, "graph": body})
    calls = certify(graph.plan()).cost.calls
    assert calls is not None
    return calls


@pytest.mark.parametrize(
    ("compact", "problem"),
    [
        ({}, "over_tokens"),
        ({"over_tokens": 0}, "over_tokens"),
        ({"over_tokens": 10, "keep": -1}, "keep"),
        ({"over_tokens": 10, "agent": {"provider": "nobody"}}, "no provider 'nobody'"),
        ({"over_tokens": 10, "agent": {"tools": []}}, "tools"),
    ],
)
def test_what_cannot_be_is_an_error_at_load(compact: Any, problem: str) -> None:
    assert problem in "\n".join(problems("agent", {"compact": compact}))


def test_an_agent_inside_a_node_has_nothing_to_compact() -> None:
    vote = {"agents": {"a": {"compact": {"over_tokens": 10}}}}
    assert "drop compact" in "\n".join(problems("vote", vote))
