"""Agents side by side under a budget: each call is set aside at its most before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from rondel import Graph
from rondel.certificate import certify
from rondel.engine.message import Message, Part
from rondel.models.bridge import BridgeModel
from rondel.models.model import Request, most_of
from rondel.models.prices import usd
from rondel.nodes.agent import asker_of
from rondel.sessions.registry import builtin_registry
from tests.unit.sessions.playing import play

TAKEN = {"input_tokens": 1000, "output_tokens": 4000}
PRICE = usd("gpt-4o", 1000, 4000)
AGENT = {
    "provider": "scripted",
    "name": "gpt-4o",
    "answers": [{"content": "yes", "usage": TAKEN, "delay": 0.01}],
}


def crowd(kind: str, **limits: Any) -> Graph:
    """Ten agents side by side: as nodes, in a vote, or one for each part of a message."""
    if kind == "agents":
        nodes = [{"id": f"a{place}", "type": "agent", "config": AGENT} for place in range(10)]
        edges = [{"from": "s", "to": node["id"]} for node in nodes]
    elif kind == "vote":
        agents = {f"a{place}": AGENT for place in range(10)}
        nodes = [{"id": "v", "type": "vote", "config": {"agents": agents}}]
        edges = [{"from": "s", "to": "v"}]
    else:
        nodes = [{"id": "m", "type": "agent", "config": AGENT}]
        split = {"type": "regex", "config": {"pattern": "[a-z]"}}
        dynamic = {"type": "map", "split": split, "config": {"max_parallel": 10}}
        edges = [{"from": "s", "to": "m", "dynamic": dynamic}]
    start = {"id": "s", "type": "literal", "config": {"content": "a b c d e f g h i j"}}
    body = {"id": "crowd", "start": "s", "nodes": [start, *nodes], "edges": edges}
    return Graph.from_document({"graph": {**body, "limits": limits, "breaker": "off"}})


@pytest.mark.parametrize("kind", ["agents", "vote", "map"])
def test_ten_calls_at_once_overrun_a_limit_by_less_than_one(kind: str) -> None:
    graph = crowd(kind, tokens=12_000)
    result = play(graph).result
    assert result.usage.tokens == 15_000
    assert result.reason == "budget_exhausted"
    assert certify(graph.plan()).cost.tokens == 17_000


@pytest.mark.parametrize("kind", ["agents", "vote", "map"])
def test_the_same_holds_for_money(kind: str) -> None:
    graph = crowd(kind, usd=2.5 * PRICE)
    assert play(graph).result.usage.usd == pytest.approx(3 * PRICE)
    assert certify(graph.plan()).cost.usd == pytest.approx(3.5 * PRICE)


def test_a_budget_of_a_loop_holds_its_members_the_same_way() -> None:
    document = crowd("agents").document
    body = document["graph"]
    body["nodes"] += [{"id": "j", "type": "passthrough"}, {"id": "e", "type": "passthrough"}]
    body["edges"] += [{"from": f"a{place}", "to": "j"} for place in range(10)]
    body["edges"] += [{"from": "j", "to": "s"}, {"from": "j", "to": "e", "label": "limit"}]
    body["loops"] = {"s": {"max_rounds": 3, "budget": {"tokens": 12_000}}}
    graph = Graph.from_document(document)
    assert play(graph).result.usage.tokens == 15_000
    assert certify(graph.plan()).loops[0].cost.tokens == 17_000


# What a real model can take


def real(**config: Any) -> BridgeModel:
    registry = builtin_registry()
    model = registry.config_model("node", "agent")
    given = {"provider": "openai", "api_key": "key", "name": "gpt-4o", **config}
    bridge = asker_of(model.model_validate(given), registry).model
    assert isinstance(bridge, BridgeModel)
    return bridge


def asked(text: str = "hello") -> Request:
    return Request("A", [Message(text)], system="You answer.")


def test_a_request_takes_no_more_than_its_bytes_and_the_longest_answer() -> None:
    short = most_of(real(params={"max_tokens": 100}), asked("hello"))
    long = most_of(real(params={"max_tokens": 100}), asked("循环" * 1000))
    assert short is not None
    assert long is not None
    assert short.output_tokens == long.output_tokens == 100
    assert 16 <= short.input_tokens < 200
    assert long.input_tokens - short.input_tokens == 6000 - 5
    assert long.usd == pytest.approx(usd("gpt-4o", long.input_tokens, 100))


def test_without_max_tokens_an_answer_may_fill_the_context() -> None:
    most = most_of(real(), asked())
    assert most is not None
    assert most.output_tokens == 128_000


def test_of_a_model_that_nobody_lists_nothing_is_known() -> None:
    assert most_of(real(name="mine"), asked()) is None
    most = most_of(real(name="mine", params={"max_tokens": 10}), asked())
    assert most is not None
    assert (most.output_tokens, most.usd) == (10, float("inf"))


def test_a_file_may_take_all_that_a_context_holds() -> None:
    seen = Message([Part("see"), Part(attachment="x", media_type="image/png")])
    request = Request("A", [seen])
    assert most_of(real(name="mine", params={"max_tokens": 10}), request) is None
    most = most_of(real(params={"max_tokens": 10}), request)
    assert most is not None
    assert most.input_tokens == 128_000
