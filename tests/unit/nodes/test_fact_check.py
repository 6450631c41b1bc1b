"""A fact check verifies only what it is sure of, and a check that fails verifies nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rondel
from rondel import Graph
from rondel.engine.protocols import Emit
from tests.unit.nodes.durable import DurableContext, durable, run_node, scripted
from tests.unit.nodes.running import built, problems, registry_with, step

CLAIMS = st.lists(
    st.fixed_dictionaries(
        {
            "claim": st.text(max_size=5),
            "verified": st.booleans(),
            "confidence": st.sampled_from([0, 0.3, 0.7, 0.71, 1]),
            "sources": st.lists(st.text(max_size=3), max_size=2),
        }
    ),
    max_size=4,
)


def claim(text: str = "Water is wet.", verified: bool = True, confidence: float = 0.9) -> Any:
    return {"claim": text, "verified": verified, "confidence": confidence, "sources": ["a book"]}


def saying(*claims: Any) -> dict[str, Any]:
    return {"data": {"claims": list(claims)}}


def outcome(ctx: DurableContext, *answers: Any, **config: Any) -> Emit:
    result = step(built("fact_check", agent=scripted(*answers), **config), ctx)
    assert isinstance(result, Emit)
    return result


def data_of(*answers: Any, **config: Any) -> dict[str, Any]:
    return outcome(durable("Water is wet."), *answers, **config).messages[0].data


@settings(deadline=None, max_examples=40)
@given(claims=CLAIMS, threshold=st.sampled_from([0, 0.5, 0.7, 1]))
def test_all_is_verified_if_there_are_claims_and_each_is_sure(
    claims: list[Any], threshold: float
) -> None:
    data = data_of(saying(*claims), verify_threshold=threshold)
    held = [each["verified"] and each["confidence"] >= threshold for each in claims]
    assert [each["verified"] for each in data["claims"]] == held
    assert data["verified"] is (bool(held) and all(held))
    assert data["confidence"] == min((each["confidence"] for each in claims), default=0)
    assert "error" not in data


def test_it_sums_up_what_it_found() -> None:
    emit = outcome(durable("text"), saying(claim(), claim("The moon is\ncheese.", confidence=0.2)))
    message = emit.messages[0]
    assert message.text == message.data["summary"]
    assert message.text.splitlines() == [
        "Not verified: 1 of 2 claims hold, 0.7 confidence needed",
        "- holds (0.90): Water is wet. [a book]",
        "- not verified (0.20): The moon is cheese. [a book]",
    ]
    assert emit.report == {"verified": False, "confidence": 0.2}


def test_a_chinese_text_is_summed_up_in_chinese() -> None:
    emit = outcome(durable("水是湿的，月亮是奶酪做的。"), saying(claim("水是湿的。")))
    assert emit.messages[0].text.startswith("已核实")


def test_the_claims_may_be_json_in_the_text() -> None:
    assert data_of(f"Here: {json.dumps({'claims': [claim()]})}")["verified"] is True


def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    ctx = durable("text")
    emit = outcome(ctx, "all fine", saying(claim()))
    assert emit.messages[0].data["verified"] is True
    assert emit.state == 2


@pytest.mark.parametrize(
    "answers",
    [
        ["all fine"],
        [{"error": "the model is down"}],
        [{"data": {"verified": True}}],
        [saying({**claim(), "confidence": 7})],
        [saying({**claim(), "verified": "yes"})],
    ],
)
def test_a_check_that_fails_is_not_verified_and_does_not_fail_the_step(answers: list[Any]) -> None:
    ctx = durable("text")
    data = outcome(ctx, *answers).messages[0].data
    assert data["verified"] is False
    assert data["claims"] == []
    assert data["error"] in data["summary"]
    assert ctx.events == [("error", {"error": data["error"], "kind": "fact_check_failed"})]


def test_a_check_after_a_failed_one_goes_on_in_the_script() -> None:
    first = outcome(durable("text"), "no", "no", saying(claim()))
    assert first.state == 2
    again = durable("text", state=first.state)
    assert outcome(again, "no", "no", saying(claim())).messages[0].data["verified"] is True


def test_tools_may_stand_beside_the_agent() -> None:
    registry = registry_with(look=lambda: "it is wet")
    calling = {"calls": [{"name": "look"}]}
    config = {"agent": scripted(calling, saying(claim())), "tools": ["look"]}
    valid = registry.config_model("node", "fact_check").model_validate(config)
    ctx = durable("text")
    emit = step(registry.build("node", "fact_check", valid), ctx)
    assert isinstance(emit, Emit)
    assert emit.messages[0].data["verified"] is True
    assert ctx.events == [("tool_execution", {"tool": "look", "input": {}, "output": "it is wet"})]


def test_a_server_that_cannot_be_had_is_a_failed_check() -> None:
    tools = [{"mcp": {"command": "no-such-command"}}]
    result = run_node("fact_check", {"agent": scripted("x"), "tools": tools})
    assert result.data["verified"] is False
    assert "there is no command 'no-such-command'" in result.data["error"]


def test_simulated_checks_are_readable_and_differ() -> None:
    outcomes = set()
    for seed in range(12):
        result = run_node("fact_check", {"agent": {"seed": seed}}, "The moon is made of cheese.")
        assert result.data["claims"]
        assert "error" not in result.data
        outcomes.add(result.data["verified"])
    assert outcomes == {True, False}


EDGES = [
    ([{"to": "Good", "label": "pass"}, {"to": "Bad", "label": "reject"}]),
    ([{"to": "Bad", "label": "reject"}, {"to": "Good", "label": "pass"}]),
    ([{"to": "Good"}, {"to": "Bad"}]),
]


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("verified", [True, False])
def test_it_goes_one_way_or_the_other(edges: list[dict[str, str]], verified: bool) -> None:
    agent = scripted(saying(claim(verified=verified)))
    nodes = [
        {"id": "Check", "type": "fact_check", "config": {"agent": agent}},
        {"id": "Good", "type": "literal", "config": {"content": "good"}},
        {"id": "Bad", "type": "literal", "config": {"content": "bad"}},
    ]
    graph = {"id": "g", "nodes": nodes, "edges": [{"from": "Check", **edge} for edge in edges]}
    result = rondel.run(Graph.loads(json.dumps({"graph": graph})), "text")
    assert result.output == ("good" if verified else "bad")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "agent: Field required"),
        ({"agent": {}, "verify_threshold": 1.2}, "verify_threshold: "),
        ({"agent": {}, "verify_threshold": True}, "verify_threshold: "),
        ({"agent": {"provider": "opnai"}}, "agent.provider: there is no provider 'opnai'"),
        ({"agent": {"output_schema": {"type": "object"}}}, ": a fact_check sets the schema"),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(config: dict[str, Any], says: str) -> None:
    assert problems("fact_check", config)[0].startswith(says)
