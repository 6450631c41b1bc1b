"""What a model is sent in a graph of ChatDev: a literal in its role, and nothing where there is
nothing."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from rondel import Engine, Graph
from tests.openai_server import OpenAIServer

SYSTEM = {"role": "system", "content": "You help."}


def agent(name: str, url: str, **config: Any) -> dict[str, Any]:
    model = {"provider": "openai", "name": "m", "base_url": url, "api_key": "k"}
    return {"id": name, "type": "agent", "config": {**model, "role": "You help.", **config}}


def plain(name: str) -> dict[str, Any]:
    return {"id": name, "type": "passthrough", "config": {}}


def literal(role: str) -> dict[str, Any]:
    return {"id": "Said", "type": "literal", "config": {"content": "Be brief.", "role": role}}


def sent(graph: dict[str, Any], server: OpenAIServer) -> list[list[dict[str, Any]]]:
    """All messages of each call."""
    loaded = Graph.loads(json.dumps({"graph": graph}), compat="chatdev")
    result = asyncio.run(Engine(db=None).run(loaded, "the task"))
    assert result.status == "completed", result.message
    return [body["messages"] for body in server.bodies]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("through", [[], ["Hand on"]])
def test_a_literal_is_told_in_its_role_also_through_a_passthrough(
    role: str, through: list[str]
) -> None:
    way = ["Said", *through, "Answer"]
    with OpenAIServer("Yes.") as server:
        graph = {
            "id": "g",
            "start": ["Task", "Said"],
            "nodes": [
                plain("Task"),
                literal(role),
                *map(plain, through),
                agent("Answer", server.url),
            ],
            "edges": [
                {"from": "Task", "to": "Answer", "trigger": False},
                *({"from": a, "to": b} for a, b in pairwise(way)),
            ],
        }
        (messages,) = sent(graph, server)
    assert messages[0] == SYSTEM
    assert [each for each in messages if each["content"] == "Be brief."] == [
        {"role": role, "content": "Be brief."}
    ]
    assert {"role": "user", "content": "the task"} in messages


def test_what_an_agent_said_is_the_users_to_the_next_one() -> None:
    with OpenAIServer("Yes.") as server:
        graph = {
            "id": "g",
            "start": ["First"],
            "nodes": [agent("First", server.url), agent("Second", server.url)],
            "edges": [{"from": "First", "to": "Second"}],
        }
        _, second = sent(graph, server)
    assert second == [SYSTEM, {"role": "user", "content": "Yes."}]


@pytest.mark.parametrize("mode", ["messages", "prompt"])
def test_an_agent_without_input_is_sent_nothing(mode: str) -> None:
    with OpenAIServer("Yes.") as server:
        graph = {
            "id": "g",
            "start": ["Task"],
            "nodes": [plain("Task"), agent("Answer", server.url, input_mode=mode)],
            "edges": [{"from": "Task", "to": "Answer", "carry_data": False}],
        }
        (messages,) = sent(graph, server)
    assert messages == [SYSTEM, {"role": "user", "content": ""}]
