"""Other wire formats, against answers that follow the providers' public documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from google.genai.types import GenerateContentResponse
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.exchanges import NAMES, exchange, streamed, whole
from tests.openai_server import OpenAIServer
from tests.unit.models.asking import ask, model


def extras(value: Any) -> Iterator[str]:
    """What a vendor's own type has no place for."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from extras(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from extras(item)


@pytest.mark.parametrize(
    ("name", "kind", "event"),
    [
        ("responses", Response, ResponseStreamEvent),
        ("anthropic", Message, RawMessageStreamEvent),
        ("gemini", GenerateContentResponse, GenerateContentResponse),
    ],
)
def test_every_exchange_is_what_the_vendors_own_types_say(name: str, kind: Any, event: Any) -> None:
    said = exchange(name)
    read = [TypeAdapter(kind).validate_python(said[which]) for which in ("answer", "call")]
    pieces = [each for each in said["stream"] if each.get("type") != "ping"]
    read += [TypeAdapter(event).validate_python(each) for each in pieces]
    assert [*extras(read)] == []
    assert [each.type for each in read[2:] if hasattr(each, "type")] == [
        each["type"] for each in pieces if "type" in each
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_exchange_names_the_public_pages_it_follows(name: str) -> None:
    pages = exchange(name)["follows"]
    assert pages
    assert all(page.startswith("https://") for page in pages)


@pytest.mark.parametrize("stream", [True, False])
def test_openai_is_asked_by_responses_too(stream: bool) -> None:
    thoughts: list[str] = []
    said: list[str] = []
    reply = streamed("responses") if stream else whole("responses")
    with OpenAIServer(reply) as server:
        asked = model("openai", name="gpt-x", base_url=server.url, api="responses", stream=stream)
        answer = ask(asked, system="You greet.", think=thoughts.append, emit=said.append)
        (seen,) = server.seen
    assert seen.path == "/v1/responses"
    assert seen.body["instructions"] == "You greet."
    assert "Why loops?" in json.dumps(seen.body["input"])
    assert (answer.content, "".join(thoughts)) == ("Hello there", "They greet.")
    assert said == (["Hello", " there"] if stream else ["Hello there"])
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (36, 87)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (8, 64)
    assert (usage.finish_reason, usage.request_id) == ("stop", "resp_3" if stream else "resp_1")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ({"thinking_budget": 1024, "include_thoughts": True}, ("thinking_budget", 1024)),
        (True, ("include_thoughts", True)),
        ("high", ("include_thoughts", True)),
    ],
)
def test_gemini_thinks_as_it_is_told(thinking: Any, sent: tuple[str, Any], stream: bool) -> None:
    thoughts: list[str] = []
    with OpenAIServer(streamed("gemini") if stream else whole("gemini")) as server:
        address = server.url.removesuffix("/v1")
        params = {"thinking": thinking}
        config = {"base_url": address, "api_key": "k", "params": params, "stream": stream}
        asked = model("google", name="gemini-2.5-flash", **config)
        answer = ask(asked, think=thoughts.append)
        (body,) = server.bodies
    assert body["generationConfig"]["thinkingConfig"][sent[0]] == sent[1]
    assert (answer.content, "".join(thoughts)) == ("Hello there", "They greet.")
    assert (answer.usage.output_tokens, answer.usage.reasoning_tokens) == (45, 40)
    assert answer.usage.cached_tokens == 4


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("thinking", ["high", {"type": "enabled", "budget_tokens": 2000}])
def test_anthropic_thinks_as_it_is_told(thinking: Any, stream: bool) -> None:
    thoughts: list[str] = []
    with OpenAIServer(streamed("anthropic") if stream else whole("anthropic")) as server:
        address = server.url.removesuffix("/v1")
        params = {"thinking": thinking, "max_tokens": 20_000}
        config = {"base_url": address, "api_key": "k", "params": params, "stream": stream}
        answer = ask(model("anthropic", name="claude-x", **config), think=thoughts.append)
        (body,) = server.bodies
    assert body["thinking"]["type"] == "enabled"
    if isinstance(thinking, dict):
        assert body["thinking"] == thinking
    assert (answer.content, "".join(thoughts)) == ("Hello there", "They greet.")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (16, 45)
    assert answer.usage.cached_tokens == 4


def test_who_has_no_responses_is_refused() -> None:
    with pytest.raises(ValidationError, match="anthropic has no Responses"):
        model("anthropic", name="m", api_key="k", api="responses")
