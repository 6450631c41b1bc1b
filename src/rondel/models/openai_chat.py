"""OpenAI's dialect for servers whose reported usage may be invalid."""

from __future__ import annotations

from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.usage import RequestUsage

from rondel.models.metering import plausible

TOLD_IN_PARTS = ("prompt_tokens_details", "completion_tokens_details")


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
