"""A vote asks everyone at once, counts who does not abstain, and goes one of two ways."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rondel
from rondel import Engine, Graph
from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Usage
from rondel.errors import ModelError
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from rondel.nodes.tally import Tally
from rondel.nodes.vote import ballot_in
from tests.unit.nodes.durable import DurableContext, durable, run_node, scripted, with_echo
from tests.unit.nodes.running import built, problems, registry_with, step

DECISIONS = st.sampled_from(["yes", "no", "abstain"])


def ballot(decision: str, **more: Any) -> dict[str, Any]:
    """A scripted agent that votes so."""
    return scripted({"data": {"decision": decision, "reasoning": "because", **more}})


def voters(*decisions: str) -> dict[str, Any]:
    return {f"V{number}": ballot(decision) for number, decision in enumerate(decisions, 1)}


def outcome(ctx: DurableContext, **config: Any) -> Emit:
    result = step(built("vote", **config), ctx)
    assert isinstance(result, Emit)
    return result


def data_of(*decisions: str, **config: Any) -> dict[str, Any]:
    return outcome(durable("t"), agents=voters(*decisions), **config).messages[0].data


# Counting


@settings(deadline=None, max_examples=30)
@given(
    decisions=st.lists(DECISIONS, min_size=1, max_size=8),
    percent=st.integers(50, 100),
)
def test_it_passes_if_enough_of_those_who_do_not_abstain_say_yes(
    decisions: list[str], percent: int
) -> None:
    data = data_of(*decisions, threshold=percent / 100)
    yes, no = decisions.count("yes"), decisions.count("no")
    quorate = yes + no > 0 and 2 * (yes + no) >= len(decisions)
    assert data["passed"] is (quorate and 100 * yes >= percent * (yes + no))
    assert data["approved"] is data["passed"]
    assert data["ratio"] == (yes / (yes + no) if yes + no else None)
    assert [vote["decision"] for vote in data["votes"]] == decisions


@settings(deadline=None, max_examples=30)
@given(voters=st.integers(1, 60), yes=st.integers(0, 60))
def test_a_threshold_computed_as_the_ratio_is_reached(voters: int, yes: int) -> None:
    yes = min(yes, voters)
    share = yes / voters
    ballots = [{"decision": "yes"}] * yes + [{"decision": "no"}] * (voters - yes)
    assert Tally(ballots, voters, share).foreseen is True
    assert Tally(ballots, voters, round(share, 10)).foreseen is True
    assert Tally(ballots, voters, share + 0.001).foreseen is False


@pytest.mark.parametrize(
    ("decisions", "threshold", "passed"),
    [
        ("yes yes no", 0.6666, True),
        ("yes yes no", 0.67, False),
        ("yes " * 7 + "no " * 3, 0.7, True),
        ("yes " * 6 + "no " * 4, 0.7, False),
        ("yes no", 0.5, True),
        ("yes no no", 0.5, False),
        ("yes abstain", 1, True),
        ("yes abstain abstain", 1, False),
        ("yes yes no", 1, False),
    ],
)
def test_the_threshold_is_exact(decisions: str, threshold: float, passed: bool) -> None:
    assert data_of(*decisions.split(), threshold=threshold)["passed"] is passed


def test_a_vote_of_abstentions_does_not_pass() -> None:
    data = data_of("abstain", "abstain")
    assert (data["passed"], data["ratio"]) == (False, None)
    assert data["summary"].startswith("Not passed: everybody abstained; 0 yes, 0 no, 2 abstained")


def test_it_says_who_voted_how_and_why() -> None:
    agents = {"Ann": ballot("yes", score=8), "Bob": ballot("NO ")}
    message = outcome(durable("t"), agents=agents).messages[0]
    assert message.data["votes"] == [
        {"agent": "Ann", "decision": "yes", "score": 8, "reasoning": "because"},
        {"agent": "Bob", "decision": "no", "score": None, "reasoning": "because"},
    ]
    assert message.text == message.data["summary"]
    assert message.text.splitlines() == [
        "Passed: 1 yes, 1 no, 0 abstained; 50% of the votes cast, 0.5 needed",
        "- Ann: yes (8): because",
        "- Bob: no: because",
    ]


def test_a_chinese_topic_is_voted_on_and_summed_up_in_chinese() -> None:
    processor, echo = with_echo("vote", {"agents": {"甲": {"provider": "echo"}}})
    result = step(processor, durable("这个方案可以采用吗？"))
    assert isinstance(result, Emit)
    assert "请独立判断" in echo.requests[0].messages[0].text
    assert result.messages[0].text.startswith("未通过：全部弃权")


@pytest.mark.parametrize(
    ("decisions", "quorum", "passed"),
    [
        ("yes abstain abstain", 0, True),
        ("yes abstain abstain", 0.3333, True),
        ("yes abstain abstain", 0.34, False),
        ("yes yes abstain", 1, False),
        ("yes yes yes", 1, True),
        ("abstain", 0, False),
    ],
)
def test_a_quorum_must_not_abstain(decisions: str, quorum: float, passed: bool) -> None:
    data = data_of(*decisions.split(), quorum=quorum)
    assert data["passed"] is passed
    assert ("a quorum of" in data["summary"]) is (not passed and "yes" in decisions)


# In turn


def asked_in_turn(*decisions: str, **config: Any) -> tuple[int, bool]:
    """How many were asked, and what came of it."""
    data = data_of(*decisions, ask="in_turn", **config)
    assert data["calls_saved"] == len(decisions) - len(data["votes"])
    return len(data["votes"]), data["passed"]


def test_in_turn_nobody_is_asked_who_cannot_change_the_outcome() -> None:
    assert asked_in_turn("yes", "yes", "yes", "no", "no") == (3, True)
    assert asked_in_turn("yes", "no", "yes", "no", "yes") == (5, True)
    assert asked_in_turn("yes", "yes", "yes", "no", "no", threshold=0.7) == (5, False)
    assert asked_in_turn("no", "no", "no", "yes", "yes") == (3, False)
    assert asked_in_turn("no", "yes", "yes", "yes", threshold=1) == (1, False)
    assert asked_in_turn(*["abstain"] * 4, "yes", "yes") == (4, False)


@settings(deadline=None, max_examples=60)
@given(
    decisions=st.lists(DECISIONS, min_size=1, max_size=7),
    percent=st.integers(50, 100),
    quorum=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_in_turn_comes_to_the_same_as_together(
    decisions: list[str], percent: int, quorum: float
) -> None:
    config = {"threshold": percent / 100, "quorum": quorum}
    asked, passed = asked_in_turn(*decisions, **config)
    assert passed is data_of(*decisions, **config)["passed"]
    assert 1 <= asked <= len(decisions)


def test_with_confidence_fewer_are_asked() -> None:
    assert asked_in_turn(*["yes"] * 9) == (5, True)
    assert asked_in_turn(*["yes"] * 9, confidence=0.85) == (2, True)
    assert asked_in_turn(*["no"] * 9, confidence=0.85) == (2, False)
    assert asked_in_turn(*["yes"] * 9, confidence=0.99) == (4, True)
    assert asked_in_turn(*["abstain"] * 9, confidence=0.6) == (5, False)


def test_in_turn_each_is_asked_after_the_other_and_a_crash_asks_nobody_twice() -> None:
    agents = voters("yes", "no", "yes", "no", "no")
    first = durable("t")
    out = outcome(first, agents=agents, ask="in_turn")
    assert list(first.parts) == [f"ballot V{number}" for number in range(1, 6)]
    again = durable("t")
    again.parts.update(dict(list(first.parts.items())[:3]))
    assert outcome(again, agents=agents, ask="in_turn") == out
    assert len(again.charged) == 2


def test_those_who_were_not_asked_are_in_the_summary_and_the_report() -> None:
    out = outcome(durable("t"), agents=voters("no", "no", "yes"), ask="in_turn")
    assert out.messages[0].text.startswith("Not passed: 0 yes, 2 no, 0 abstained, 1 not asked; 0%")
    assert out.report == {"passed": False, "ratio": 0.0, "calls_saved": 1}


# Ballots


@pytest.mark.parametrize(
    ("text", "vote_type", "decision", "score"),
    [
        ('{"decision": "yes"}', "yes_no", "yes", None),
        ('Well.\n```json\n{"decision": "No", "score": 3}\n```', "yes_no", "no", 3),
        ('I think {"decision": "abstain", "reasoning": "x"} fits.', "yes_no", "abstain", None),
        ('{"decision": true}', "yes_no", "yes", None),
        ('{"decision": "yes", "score": 99}', "yes_no", "yes", None),
        ('{"decision": "yes"} or rather {"decision": "no"}', "yes_no", "no", None),
        ('{"score": 6}', "score_1_10", "yes", 6),
        ('{"score": 5.5}', "score_1_10", "no", 5.5),
        ('{"score": "9"}', "score_1_10", "yes", 9),
        ('{"score": 9, "decision": null}', "score_1_10", "yes", 9),
        ('{"score": 9, "decision": "no"}', "score_1_10", "no", 9),
        ('{"decision": "abstain"}', "score_1_10", "abstain", None),
    ],
)
def test_a_ballot_is_read_from_the_text(
    text: str, vote_type: Any, decision: str, score: float | None
) -> None:
    read = ballot_in(ModelAnswer(text), "V", vote_type)
    assert read is not None
    assert (read["decision"], read["score"]) == (decision, score)


@pytest.mark.parametrize(
    ("text", "vote_type"),
    [
        ("yes", "yes_no"),
        ("{}", "yes_no"),
        ('{"decision": "maybe"}', "yes_no"),
        ('{"score": 9}', "yes_no"),
        ('{"decision": 1}', "yes_no"),
        ('{"decision": "yes"}', "score_1_10"),
        ('{"decision": "yes", "score": 0}', "score_1_10"),
        ('{"decision": "yes", "score": 11}', "score_1_10"),
        ('{"decision": "yes", "score": true}', "score_1_10"),
        ('{"decision": "maybe", "score": 9}', "score_1_10"),
        ('{"decision": "yes", "score": 9', "score_1_10"),
    ],
)
def test_what_is_no_ballot_is_none(text: str, vote_type: Any) -> None:
    assert ballot_in(ModelAnswer(text), "V", vote_type) is None


def test_data_counts_before_text() -> None:
    answer = ModelAnswer('{"decision": "yes"}', {"decision": "no"})
    read = ballot_in(answer, "V", "yes_no")
    assert read is not None
    assert read["decision"] == "no"


@settings(deadline=None, max_examples=30)
@given(text=st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    for vote_type in ("yes_no", "score_1_10"):
        ballot_in(ModelAnswer(text), "V", vote_type)


def test_a_malformed_ballot_is_asked_for_again() -> None:
    ctx = durable("t")
    agents = {"A": scripted("hm", '{"decision": "yes"}'), "B": ballot("yes")}
    out = outcome(ctx, agents=agents)
    assert [vote["decision"] for vote in out.messages[0].data["votes"]] == ["yes", "yes"]
    assert "ballot A again" in ctx.parts
    assert "ballot B again" not in ctx.parts
    assert out.state == {"A": 2, "B": 1}
    assert ctx.events == []


def test_the_second_question_shows_what_could_not_be_read() -> None:
    processor, echo = with_echo("vote", {"agents": {"A": {"provider": "echo"}}})
    step(processor, durable("Ship it?"))
    first, again = echo.requests
    assert first.messages[0].text.startswith("Ship it?")
    assert first.schema is not None
    assert [message.text for message in again.messages[:2]] == [
        first.messages[0].text,
        "Node/A says 0",
    ]
    assert "could not be read" in again.messages[2].text
    assert (first.idempotency_key, again.idempotency_key) == (
        "session/node#1:ballot A",
        "session/node#1:ballot A again",
    )


def test_a_ballot_malformed_twice_is_an_abstention_and_is_reported() -> None:
    ctx = durable("t")
    out = outcome(ctx, agents={"A": scripted("hm"), "B": ballot("no")})
    data = out.messages[0].data
    assert data["votes"][0] == {
        "agent": "A",
        "decision": "abstain",
        "score": None,
        "reasoning": "",
        "malformed": True,
    }
    assert "- A: abstain (no readable ballot)" in data["summary"]
    ((event, value),) = ctx.events
    assert (event, value["kind"]) == ("error", "malformed_ballot")
    assert "'A'" in value["error"]


# Side by side


class Meeting:
    """A model that answers when as many are asked as were expected."""

    def __init__(self, expected: int) -> None:
        self._all_here = asyncio.Barrier(expected)

    async def answer(self, _request: Request) -> ModelAnswer:
        await self._all_here.wait()
        return ModelAnswer("", {"decision": "yes"})


def test_all_are_asked_at_once() -> None:
    registry = registry_with()
    meeting = Meeting(5)
    registry.provider("meeting", ProviderConfig, lambda _config, _registry: meeting)
    agents = {f"V{number}": {"provider": "meeting"} for number in range(5)}
    model = registry.config_model("node", "vote")
    processor = registry.build("node", "vote", model.model_validate({"agents": agents}))
    assert isinstance(step(processor, durable("t")), Emit)


def test_votes_come_in_the_order_of_the_agents_whoever_was_first() -> None:
    agents = {
        "slow": scripted({"data": {"decision": "yes"}, "delay": 0.01}),
        "fast": ballot("no"),
    }
    data = outcome(durable("t"), agents=agents).messages[0].data
    assert [vote["agent"] for vote in data["votes"]] == ["slow", "fast"]


def test_a_failure_fails_the_step_and_the_others_are_not_asked_again() -> None:
    agents = {
        "A": scripted({"error": "busy"}, {"data": {"decision": "no"}}),
        "B": scripted({"data": {"decision": "yes"}, "delay": 0.01}, "asked again"),
    }
    processor = built("vote", agents=agents)
    ctx = durable("t")
    with pytest.raises(ModelError, match="busy"):
        step(processor, ctx)
    assert list(ctx.parts) == ["ballot B"]
    ctx.attempt = 2
    out = step(processor, ctx)
    assert isinstance(out, Emit)
    assert [vote["decision"] for vote in out.messages[0].data["votes"]] == ["no", "yes"]
    assert out.state == {"A": 2, "B": 1}


class Spent(BaseException):
    """What the engine raises where a budget is spent; no retry may catch it."""


@dataclass
class PoorContext(DurableContext):
    """A context that allows one model call."""

    async def reserve(self, estimate: Callable[[], Usage]) -> None:
        if self.reserved:
            raise Spent
        await super().reserve(estimate)


def test_a_spent_budget_ends_the_step_whoever_else_fails() -> None:
    agents = {"A": scripted({"error": "busy"}), "B": ballot("yes")}
    with pytest.raises(Spent):
        step(built("vote", agents=agents), PoorContext([Message("t")]))


async def test_nothing_is_under_way_any_more_when_the_step_is_cancelled() -> None:
    agents = {name: scripted({"content": "late", "delay": 60}) for name in "ABC"}

    before = asyncio.all_tasks()
    task = asyncio.create_task(built("vote", agents=agents).process(durable("t")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


def test_a_failing_voter_fails_the_session_unless_errors_are_data() -> None:
    config = {"agents": {"A": scripted({"error": "no line"}), "B": ballot("yes")}}
    result = run_node("vote", config)
    assert (result.status, result.reason) == ("failed", "step_failed")
    assert "no line" in result.message
    assert run_node("vote", config, on_error="continue").reason == "no_output"


async def test_a_session_tells_a_malformed_ballot_as_an_error_and_goes_on() -> None:
    config = {"agents": {"A": scripted("hm"), "B": ballot("yes")}}
    node = {"id": "Node", "type": "vote", "config": config}
    graph = Graph.loads(json.dumps({"graph": {"id": "one", "nodes": [node]}}))
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "topic")
        events = [event async for event in session.events()]
        result = await session.result()
    assert result.status == "completed"
    assert result.data["passed"] is True
    assert [e.data["kind"] for e in events if e.event == "error"] == ["malformed_ballot"]
    assert result.usage.model_calls == 3


# Ways


@dataclass(frozen=True)
class Edge:
    label: str
    target: str


def way(passed: bool, *edges: str) -> str:
    """Where a vote goes; an edge is `label:target`, or a target alone."""
    exits = [Edge(*edge.rpartition(":")[::2]) for edge in edges]
    output = Emit([Message("", {"passed": passed})])
    chosen = built("vote", agents={"A": {}}).route(output, exits)
    return " ".join(edge.target for edge in chosen)


@pytest.mark.parametrize(
    ("edges", "passing", "rejecting"),
    [
        (["a", "b"], "a", "b"),
        (["pass:a", "reject:b"], "a", "b"),
        (["reject:a", "pass:b"], "b", "a"),
        (["reject:a", "b"], "b", "a"),
        (["a", "pass:b"], "b", "a"),
        (["pass:a", "pass:b", "reject:c", "reject:d"], "a b", "c d"),
        (["a", "b", "c"], "a", "b"),
        (["pass:a", "pass:b"], "a b", ""),
        (["a"], "a", "a"),
        (["reject:a"], "a", "a"),
        ([], "", ""),
    ],
)
def test_it_goes_by_label_or_by_place(edges: list[str], passing: str, rejecting: str) -> None:
    assert way(True, *edges) == passing
    assert way(False, *edges) == rejecting


def test_a_rejected_draft_goes_back_until_it_passes() -> None:
    graph = {
        "id": "council",
        "start": "Writer",
        "end": "Done",
        "nodes": [
            {"id": "Writer", "type": "agent", "config": scripted("one", "two", "three")},
            {
                "id": "Council",
                "type": "vote",
                "config": {
                    "threshold": 1,
                    "agents": {
                        "A": scripted('{"decision": "no"}', '{"decision": "yes"}'),
                        "B": scripted('{"decision": "yes"}'),
                    },
                },
            },
            {"id": "Done", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Council"},
            {"from": "Council", "to": "Done", "label": "pass"},
            {"from": "Council", "to": "Writer", "label": "reject"},
        ],
    }
    result = rondel.run(Graph.loads(json.dumps({"graph": graph})), "topic")
    assert result.status == "completed"
    assert result.data["passed"] is True
    assert result.loops[0].rounds == 2


# Configs


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"threshold": 0.4}, "threshold: "),
        ({"threshold": 1.01}, "threshold: "),
        ({"threshold": "0.6"}, "threshold: "),
        ({"vote_type": "score_1_100"}, "vote_type: "),
        ({"agents": {}}, "agents: "),
        ({"agents": {"A": {}, "A again": {}}}, ": the agents 'A' and 'A again' are too alike"),
        ({"agents": {" ": {}}}, "agents. .[key]: "),
        ({"agents": {"A": {"provider": "scripted"}}}, "agents.A: a scripted model needs"),
        ({"agents": {"A": {"score": {"strat": 1}}}}, "agents.A.score.strat: "),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(change: dict[str, Any], says: str) -> None:
    assert problems("vote", {"agents": {"A": {}}, **change})[0].startswith(says)
