"""What is told of every call of a real model, and of what it thinks."""

from __future__ import annotations

from typing import Any

import pytest

from rondel import Engine, Graph
from tests.openai_server import OpenAIServer, Reply

IDS = {"x-request-id": "req_1"}


async def told_of(server: OpenAIServer, **config: Any) -> tuple[list[Any], list[Any], Any]:
    """The events of one agent's call, live ones too, its rows in the ledger, and its step."""
    agent = {"provider": "deepseek", "name": "m", "base_url": server.url, "backoff": 0, **config}
    graph = Graph("g")
    graph.add("A", "agent", agent)
    events = []
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "the task")
        async for event in session.events():
            events.append(event)
        return events, session.ledger(), session.steps()[0]


async def test_the_ledger_tells_how_each_call_ended_and_what_its_provider_calls_it() -> None:
    broken = Reply(status=500, headers={"x-request-id": "req_0"}, body={"error": {}})
    good = Reply("Hello.", headers=IDS, cached_tokens=4, reasoning_tokens=3)
    with OpenAIServer(broken, good) as server:
        events, rows, step = await told_of(server)
    failed, answered = rows
    assert (failed.finish_reason, failed.attempt, failed.request_id) == ("error", 1, "req_0")
    assert (answered.finish_reason, answered.attempt) == ("stop", 2)
    assert (answered.request_id, answered.cached_tokens, answered.reasoning_tokens) == (
        "req_1",
        4,
        3,
    )
    spent = [event.data for event in events if event.event == "token_usage"]
    told = {
        "finish_reason": "stop",
        "attempt": 2,
        "request_id": "req_1",
        "cached_tokens": 4,
        "reasoning_tokens": 3,
    }
    assert spent[1].items() >= told.items()
    assert (step.usage.cached_tokens, step.usage.reasoning_tokens) == (4, 3)


@pytest.mark.parametrize("stream", [True, False])
async def test_what_a_model_thinks_is_streamed_apart_from_its_answer(stream: bool) -> None:
    with OpenAIServer(Reply("Hello.", thinking="They greet.", headers=IDS)) as server:
        events, _, step = await told_of(server, stream=stream)
    chunks = {
        name: "".join(event.data["chunk"] for event in events if event.event == name)
        for name in ("token_stream", "thinking_stream")
    }
    assert chunks == {"token_stream": "Hello.", "thinking_stream": "They greet."}
    assert step.outputs[0]["content"] == "Hello."
    assert all(event.seq is None for event in events if event.event == "thinking_stream")


async def test_who_watches_is_told_that_a_provider_wants_to_be_left_alone() -> None:
    error = {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}
    later = Reply(status=429, headers={"Retry-After": "3"}, body={"error": error})
    with OpenAIServer(later, "Hello.") as server:
        events, _, step = await told_of(server)
    (told,) = [event for event in events if event.event == "model_waiting"]
    assert told.seq is None
    assert 2 < told.data["seconds"] <= 3
    reason = "deepseek takes no more calls for now (status 429: slow down)"
    assert (told.data["reason"], told.data["agent"]) == (reason, "A")
    assert step.outputs[0]["content"] == "Hello."
