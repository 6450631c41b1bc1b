"""OpenAI's client as we use it: it sends and reads what the library's own would."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from rondel.models.openai_client import Client
from tests.openai_server import OpenAIServer, Reply

ENVELOPE = {"id": "1", "created": 1, "model": "m"}
WHOLE: dict[str, Any] = {
    **ENVELOPE,
    "object": "chat.completion",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
}
PIECE: dict[str, Any] = {
    **ENVELOPE,
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}],
}
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}


def _with(base: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**base, **changed}


def _delta(**delta: Any) -> dict[str, Any]:
    return _with(PIECE, choices=[{"index": 0, "delta": delta, "finish_reason": None}])


LOGPROBS = {
    "content": [{"token": "é", "bytes": [195, 169], "logprob": -0.1, "top_logprobs": []}],
    "refusal": None,
}
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 2,
    "total_tokens": 11,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 1, "accepted_prediction_tokens": 0},
}
REFUSED = {"role": "assistant", "content": None, "refusal": "No.", "annotations": []}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def _choice(message: dict[str, Any], why: str) -> list[dict[str, Any]]:
    return [{"index": 0, "message": message, "finish_reason": why, "logprobs": None}]


SAID = [
    (ChatCompletion, WHOLE),
    (ChatCompletion, _with(WHOLE, choices=_choice(REFUSED, "stop"), usage=USAGE)),
    (ChatCompletion, _with(WHOLE, choices=_choice(CALLING, "tool_calls"), service_tier="flex")),
    (ChatCompletion, _with(WHOLE, choices=[{**WHOLE["choices"][0], "logprobs": LOGPROBS}])),
    (ChatCompletion, _with(WHOLE, system_fingerprint=None, own={"x_groq": {"id": "r"}})),
    (ChatCompletion, _with(WHOLE, usage={"prompt_tokens": "many"})),
    (ChatCompletion, _with(WHOLE, usage={"prompt_tokens": 1.5, "completion_tokens": True})),
    (ChatCompletion, _with(WHOLE, created=None, service_tier="whichever")),
    (ChatCompletion, _with(WHOLE, choices=None)),
    (ChatCompletion, {"unlike": "anything"}),
    (ChatCompletionChunk, PIECE),
    (ChatCompletionChunk, _delta(refusal="No.", role="assistant")),
    (ChatCompletionChunk, _delta(content="\ud83d")),
    (ChatCompletionChunk, _with(PIECE, choices=[{**PIECE["choices"][0], "logprobs": LOGPROBS}])),
    (ChatCompletionChunk, _with(PIECE, choices=[], usage=USAGE, obfuscation="x")),
    (ChatCompletionChunk, _delta(reasoning_content="Hm", annotations=[{"any": 1}])),
    (ChatCompletionChunk, _delta(tool_calls=[CALL])),
    (ChatCompletionChunk, _delta(content=[{"type": "text", "text": "Hi"}])),
    (ChatCompletionChunk, _with(PIECE, choices=[{"index": 0, "delta": None}])),
    (ChatCompletionChunk, _with(PIECE, choices=[{"delta": {}, "finish_reason": "sensitive"}])),
    (ChatCompletionChunk, _with(PIECE, choices=[], usage={"prompt_tokens": -1})),
    (ChatCompletionChunk, _with(PIECE, choices=None, extra={"deep": [1]})),
]


@pytest.mark.parametrize(("kind", "said"), SAID, ids=lambda value: json.dumps(value, default=str))
async def test_what_a_server_says_is_read_as_the_library_reads_it(
    kind: Any, said: dict[str, Any]
) -> None:
    response = httpx2.Response(200)
    async with httpx2.AsyncClient() as http, AsyncOpenAI(api_key="none") as library:
        ours = Client("http://127.0.0.1/v1", "none", http)
        read, expected = (
            client._process_response_data(data=said, cast_to=kind, response=response)
            for client in (ours, library)
        )
    assert type(read) is type(expected)
    assert read.model_dump(warnings=False) == expected.model_dump(warnings=False)


ASKED: list[tuple[ModelSettings, ModelRequestParameters]] = [
    (ModelSettings(), ModelRequestParameters()),
    (
        ModelSettings(
            max_tokens=9,
            stop_sequences=["x"],
            timeout=30,
            extra_headers={"X-Own": "1"},
            extra_body={"own": {"deep": 1}},
        ),
        ModelRequestParameters(function_tools=[ToolDefinition(name="look")]),
    ),
    (
        ModelSettings(thinking="high"),
        ModelRequestParameters(
            output_mode="native",
            output_object=OutputObjectDefinition({"type": "object", "properties": {}}, name="a"),
        ),
    ),
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("settings", "parameters"), ASKED)
async def test_what_is_sent_is_what_the_library_sends(
    settings: ModelSettings, parameters: ModelRequestParameters, stream: bool
) -> None:
    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart(["Look:", picture])])]
    with OpenAIServer(Reply("Hi")) as server:
        async with httpx2.AsyncClient() as http:
            own = AsyncOpenAI(base_url=server.url, api_key="key", http_client=http, max_retries=0)
            for client in (own, Client(server.url, "key", http)):
                model = OpenAIChatModel("gpt-5.5", provider=OpenAIProvider(openai_client=client))
                if stream:
                    async with model.request_stream(messages, settings, parameters) as events:
                        assert [event async for event in events]
                else:
                    assert await model.request(messages, settings, parameters)
    theirs, ours = server.seen
    assert ours.body == theirs.body | {"stream": stream}
    assert ours.headers | {"content-length": ""} == theirs.headers | {"content-length": ""}
