"""Other wire formats, against answers written from the providers' public documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model

EXCHANGES = Path(__file__).parents[2] / "fixtures" / "exchanges"


def exchange(name: str) -> Reply:
    return Reply(body=json.loads((EXCHANGES / f"{name}.json").read_text("utf-8")))


def test_openai_is_asked_by_responses_too() -> None:
    thoughts: list[str] = []
    with OpenAIServer(exchange("openai_responses")) as server:
        asked = model("openai", name="gpt-x", base_url=server.url, api="responses", stream=False)
        answer = ask(asked, system="You greet.", think=thoughts.append)
        (seen,) = server.seen
    assert seen.path == "/v1/responses"
    assert seen.body["instructions"] == "You greet."
    assert "Why loops?" in json.dumps(seen.body["input"])
    assert (answer.content, thoughts) == ("Hello there", ["They greet."])
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (36, 87)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (8, 64)
    assert (usage.finish_reason, usage.request_id) == ("stop", "resp_1")


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ({"thinking_budget": 1024, "include_thoughts": True}, ("thinking_budget", 1024)),
        (True, ("include_thoughts", True)),
    ],
)
def test_gemini_thinks_as_it_is_told(thinking: Any, sent: tuple[str, Any]) -> None:
    thoughts: list[str] = []
    with OpenAIServer(exchange("gemini_thinking")) as server:
        address = server.url.removesuffix("/v1")
        params = {"thinking": thinking}
        config = {"base_url": address, "api_key": "k", "params": params, "stream": False}
        asked = model("google", name="gemini-2.5-flash", **config)
        answer = ask(asked, think=thoughts.append)
        (body,) = server.bodies
    assert body["generationConfig"]["thinkingConfig"][sent[0]] == sent[1]
    assert (answer.content, thoughts) == ("Hello there", ["They greet."])
    assert (answer.usage.output_tokens, answer.usage.reasoning_tokens) == (45, 40)


@pytest.mark.parametrize("thinking", ["high", {"type": "enabled", "budget_tokens": 2000}])
def test_anthropic_thinks_as_it_is_told(thinking: Any) -> None:
    thoughts: list[str] = []
    with OpenAIServer(exchange("anthropic_thinking")) as server:
        address = server.url.removesuffix("/v1")
        params = {"thinking": thinking, "max_tokens": 20_000}
        config = {"base_url": address, "api_key": "k", "params": params, "stream": False}
        answer = ask(model("anthropic", name="claude-x", **config), think=thoughts.append)
        (body,) = server.bodies
    assert body["thinking"]["type"] == "enabled"
    if isinstance(thinking, dict):
        assert body["thinking"] == thinking
    assert (answer.content, thoughts) == ("Hello there", ["They greet."])
    assert answer.usage.cached_tokens == 4


def test_who_has_no_responses_is_refused() -> None:
    with pytest.raises(ValidationError, match="anthropic has no Responses"):
        model("anthropic", name="m", api_key="k", api="responses")
