"""OpenAI's client and its dialect, for whoever speaks it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import httpx2
from openai import AsyncOpenAI, AsyncStream, NotGiven, Omit, not_given
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel, ValidationError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.usage import RequestUsage

from rondel.models.metering import plausible

Model = TypeVar("Model")

CHECKED: frozenset[type[BaseModel]] = frozenset({ChatCompletion, ChatCompletionChunk})
"""The types of a whole answer and of a chunk, with compiled validators."""


TOLD_IN_PARTS = ("prompt_tokens_details", "completion_tokens_details")


class Client(AsyncOpenAI):
    """The client without retries that parses answers with pydantic's compiled validators.

    The library's own reader takes whatever comes, in Python, field by field: half of the time of a
    streamed answer. What does not fit goes there, so nothing is read differently.
    """

    def __init__(self, base_url: str, api_key: str, http_client: httpx2.AsyncClient) -> None:
        super().__init__(base_url=base_url, api_key=api_key, http_client=http_client, max_retries=0)

    @cached_property
    def chat(self) -> Any:
        """The Chat Completions API only."""
        return Chat(self)

    def _process_response_data(
        self, *, data: object, cast_to: type[Model], response: httpx2.Response
    ) -> Model:
        if cast_to in CHECKED:
            kind: Any = cast_to
            try:
                read: Model = kind.model_validate(data, strict=True)
            except ValidationError:
                pass
            else:
                return read
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)


class Chat:
    """Sends chat completions; the body is plain JSON already.

    The library's own way looks through all of it for what it would have to translate: a sixth of
    the time of an answer that is not streamed.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def completions(self) -> Chat:
        """The object on which the library calls `create`."""
        return self

    async def create(
        self,
        *,
        stream: bool,
        timeout: float | httpx2.Timeout | NotGiven | None = not_given,  # noqa: ASYNC109
        extra_headers: dict[str, str] | None = None,
        extra_body: dict[str, Any] | None = None,
        **body: Any,
    ) -> Any:
        """The completion, or the stream of its chunks."""
        options: Any = {"headers": extra_headers or {}, "security": {"bearer_auth": True}}
        if extra_body:
            options["extra_json"] = extra_body
        if not isinstance(timeout, NotGiven):
            options["timeout"] = timeout
        given = {name: value for name, value in body.items() if not isinstance(value, Omit)}
        return await self._client.post(
            "/chat/completions",
            body={**given, "stream": stream},
            options=options,
            cast_to=ChatCompletion,
            stream=stream,
            stream_cls=AsyncStream[ChatCompletionChunk],
        )


class ChatModel(OpenAIChatModel):
    """The library's model, but invalid usage is ignored instead of an error."""

    def _validate_completion(self, response: ChatCompletion) -> Any:
        _drop_what_cannot_be(response)
        return super()._validate_completion(response)

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return ChatStream


class ChatStream(OpenAIStreamedResponse):
    """The streamed response, with invalid usage ignored."""

    def _map_usage(self, response: ChatCompletionChunk) -> RequestUsage:
        _drop_what_cannot_be(response)
        return super()._map_usage(response)


def _drop_what_cannot_be(response: ChatCompletion | ChatCompletionChunk) -> None:
    usage: Any = response.usage
    if usage is None:
        return
    told = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    parts = (getattr(usage, name, None) for name in TOLD_IN_PARTS)
    if any(plausible(figure) is None for figure in told) or not all(map(_adds_up, parts)):
        response.usage = None


def _adds_up(parts: Any) -> bool:
    """Whether the details of the usage are numbers."""
    if parts is None:
        return True
    figures = getattr(parts, "__dict__", {}).values()
    return all(figure is None or plausible(figure) is not None for figure in figures)
