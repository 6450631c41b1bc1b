"""Every provider that a graph can name: its key, its address, its dialect, its price."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from rondel.engine.message import Message
from rondel.errors import CallError
from rondel.models.endpoint import is_local
from rondel.models.model import ToolResult, ToolSpec
from rondel.models.prices import Tariff
from rondel.models.real import OPENAI, PROVIDERS, REAL_PROVIDERS, UNBRIDGED
from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model, registry

OPENAI_LIKE = [provider.name for provider in PROVIDERS if provider.dialect is OPENAI]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        for variable in provider.keys:
            monkeypatch.delenv(variable, raising=False)


def test_every_bridged_provider_is_registered_and_every_name_is_known() -> None:
    assert {provider.name for provider in PROVIDERS} <= set(registry().names("provider"))
    assert set(REAL_PROVIDERS) - set(UNBRIDGED) <= set(registry().names("provider"))


@pytest.mark.parametrize("name", OPENAI_LIKE)
def test_everyone_who_resembles_openai_can_be_asked(name: str) -> None:
    with OpenAIServer("Hello.") as server:
        asked = model(name, name="openai/some-model", base_url=server.url, params={"max_tokens": 9})
        assert ask(asked, system="Be brief.").content == "Hello."
        body = server.bodies[0]
    assert body["model"] == "openai/some-model"
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 9


# Keys


@pytest.mark.parametrize(
    "provider", [provider for provider in PROVIDERS if provider.keys and provider.address]
)
def test_a_missing_key_is_told_before_the_run_with_its_variable(provider: Any) -> None:
    with pytest.raises(CallError) as caught:
        model(provider.name, name="m")
    text = str(caught.value)
    assert provider.keys[0] in text
    assert "--provider simulated" in text
    assert "\n" not in text


def test_a_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    model("openai", name="gpt-4o")
    with OpenAIServer() as server:
        ask(model("openai", name="m", base_url=server.url))
        ask(model("openai", name="m", base_url=server.url, api_key="sk-graph"))
        assert server.header("Authorization") == ["Bearer sk-environment", "Bearer sk-graph"]


def test_a_provider_at_home_is_known_also_where_the_graph_names_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = {"name": "m", "base_url": "https://api.openai.com/v1/"}
    with pytest.raises(CallError, match="needs a key: set OPENAI_API_KEY"):
        model("openai", **home)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    assert model("openai", **home)._endpoint.key == "sk-environment"  # type: ignore[attr-defined]
    plain = model("openai", name="m", base_url="http://api.openai.com/v1")
    assert plain._endpoint.key is None  # type: ignore[attr-defined]


def test_the_environments_key_is_not_for_other_peoples_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    foreign = model("openai", name="m", base_url="https://elsewhere.example/v1")
    assert foreign._endpoint.key is None  # type: ignore[attr-defined]


# Configs


@pytest.mark.parametrize(
    ("provider", "config", "place"),
    [
        ("openai", {}, "name"),
        ("openai", {"name": ""}, "name"),
        ("vllm", {"name": "m"}, "base_url"),
        ("openai", {"name": "m", "base_url": "elsewhere"}, "base_url"),
        ("openai", {"name": "m", "attempts": 0}, "attempts"),
        ("openai", {"name": "m", "max_concurrency": 0}, "max_concurrency"),
        ("openai", {"name": "m", "backoff": "soon"}, "backoff"),
        ("openai", {"name": "m", "params": {"temperature": "hot"}}, "temperature"),
        ("openai", {"name": "m", "params": {"timeout": 0}}, "timeout"),
        ("anthropic", {"name": "m", "params": {"seed": 1}}, "does not take seed"),
        ("google", {"name": "m", "params": {"min_p": 0.1}}, "does not take min_p"),
        ("openai", {"name": "m", "answers": ["a"]}, "answers"),
    ],
)
def test_a_wrong_config_is_refused(provider: str, config: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError, match=place):
        model(provider, **config)


# Other dialects


def anthropic_stream(*events: dict[str, Any]) -> Reply:
    """A streamed answer in Anthropic's words."""
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Reply(raw=text.encode(), headers={"Content-Type": "text/event-stream"})


def anthropic_answer(*blocks: dict[str, Any], deltas: list[dict[str, Any]]) -> Reply:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    return anthropic_stream(
        {"type": "message_start", "message": message},
        *(
            {"type": "content_block_start", "index": place, "content_block": block}
            for place, block in enumerate(blocks)
        ),
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        *({"type": "content_block_stop", "index": place} for place in range(len(blocks))),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    )


def test_anthropic_is_asked_in_its_own_words() -> None:
    deltas = [{"type": "text_delta", "text": text} for text in ("Hello", " there")]
    chunks: list[str] = []
    with OpenAIServer(anthropic_answer({"type": "text", "text": ""}, deltas=deltas)) as server:
        address = server.url.removesuffix("/v1")
        asked = model("anthropic", name="claude-x", base_url=address, api_key="sk-ant")
        answer = ask(asked, system="You write.", emit=chunks.append)
        assert server.seen[0].path.startswith("/v1/messages")
        assert "sk-ant" in " ".join(server.seen[0].headers.values())
        assert "You write." in json.dumps(server.bodies[0]["system"])
    assert answer.content == "Hello there" == "".join(chunks)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 5)


def marks(body: dict[str, Any]) -> list[str]:
    """The texts behind which Anthropic is told that they stay."""
    return [
        block["text"]
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and "cache_control" in block
    ]


@pytest.mark.parametrize(
    ("stable", "marked"), [(0, []), (1, ["the task"]), (2, ["a draft"]), (3, ["a critique"])]
)
def test_anthropic_is_told_where_what_stays_ends(stable: int, marked: list[str]) -> None:
    said = [{"type": "text_delta", "text": "Well."}]
    told = [
        Message("the task", role="user", source="TASK"),
        Message("a draft", source="Writer"),
        Message("a critique", source="Critic"),
    ]
    with OpenAIServer(anthropic_answer({"type": "text", "text": ""}, deltas=said)) as server:
        address = server.url.removesuffix("/v1")
        config = {"name": "claude-x", "base_url": address, "api_key": "sk-ant"}
        ask(model("anthropic", **config), messages=told, stable=stable)
        ask(model("anthropic", cache=False, **config), messages=told, stable=stable)
    assert marks(server.bodies[0]) == marked
    assert "cache_control" not in json.dumps(server.bodies[1])


def test_anthropic_calls_tools() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": '{"town": "Bern"}'}]
    text = [{"type": "text_delta", "text": "Sunny."}]
    replies = (
        anthropic_answer(block, deltas=deltas),
        anthropic_answer({"type": "text", "text": ""}, deltas=text),
    )
    with OpenAIServer(*replies) as server:
        address = server.url.removesuffix("/v1")
        asked = model("anthropic", name="claude-x", base_url=address, api_key="sk-ant")
        first = ask(asked, tools=[ToolSpec("weather")])
        assert first.calls[0].arguments == {"town": "Bern"}
        turn = first.turn([ToolResult(first.calls[0].id, "sunny")])
        assert ask(asked, tools=[ToolSpec("weather")], turns=[turn]).content == "Sunny."
        told = server.bodies[1]["messages"]
    assert told[1]["content"][0]["id"] == told[2]["content"][0]["tool_use_id"] == "toolu_1"


def test_google_is_asked_in_its_own_words() -> None:
    chunk = {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 2,
            "totalTokenCount": 11,
        },
        "modelVersion": "gemini-2.5-flash",
    }
    raw = f"data: {json.dumps(chunk)}\r\n\r\n".encode()
    reply = Reply(raw=raw, headers={"Content-Type": "text/event-stream"})
    with OpenAIServer(reply) as server:
        address = server.url.removesuffix("/v1")
        asked = model("gemini", name="gemini-2.5-flash", base_url=address, api_key="AIza-mine")
        answer = ask(asked, system="You write.")
        assert "gemini-2.5-flash" in server.seen[0].path
        assert server.header("x-goog-api-key") == ["AIza-mine"]
    assert answer.content == "Hello."
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 2)


@pytest.mark.parametrize(("name", "path"), [("anthropic", "claude-x"), ("google", "gemini-x")])
def test_their_failures_are_told_the_same_way(name: str, path: str) -> None:
    body = {"error": {"message": "bad key sk-planted-key", "type": "authentication_error"}}
    with OpenAIServer(Reply(status=401, body=body)) as server:
        address = server.url.removesuffix("/v1")
        asked = model(name, name=path, base_url=address, api_key="sk-planted-key")
        with pytest.raises(Exception, match=rf"{name} refused the key \(status 401") as caught:
            ask(asked)
        assert len(server.seen) == 1
    assert "sk-planted-key" not in str(caught.value)
    assert not caught.value.retryable  # type: ignore[attr-defined]


# Prices


def test_a_local_address_costs_nothing() -> None:
    with OpenAIServer(Reply("a", input_tokens=1_000_000)) as server:
        assert ask(model("openai", name="gpt-4o", base_url=server.url)).usage.usd == 0


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:80/v1", True),
        ("http://192.168.1.7/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://gpu.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
    ],
)
def test_an_address_is_local_on_this_machine_and_in_private_networks(
    address: str, local: bool
) -> None:
    assert is_local(address) == local


def test_cached_tokens_are_cheaper() -> None:
    tariff = Tariff("gpt-4o", "openai")
    full = tariff.usd(1_000_000, 0) or 0.0
    cached = tariff.usd(1_000_000, 0, cache_read=1_000_000) or 0.0
    assert 0 < cached < full


@pytest.mark.parametrize("provider", [real.prices for real in PROVIDERS if real.prices])
def test_the_price_table_knows_every_provider(provider: str) -> None:
    from genai_prices.data import providers

    assert provider in {known.id for known in providers}
    assert Tariff("nobody-lists-this", provider).usd(1000, 1000) is None
