"""One exchange with a real model, through the provider library; imported on first use only."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any, cast

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers import Provider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from rondel.engine.protocols import Usage
from rondel.models.connections import Connections, connections
from rondel.models.dialogue import calls_of, messages_of, parameters_of, record_of, text_of
from rondel.models.endpoint import Endpoint, is_local
from rondel.models.failure import Failure
from rondel.models.failures import failure_of
from rondel.models.model import Answer, Request
from rondel.models.prices import usd

NO_KEY = "none"
"""What is sent as key to an address that needs none: the libraries want some text."""


class Exchange:
    """Asks one model, once a call: no retries, no limits."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._provider = endpoint.provider

    async def once(self, request: Request, emit: Callable[[str], None]) -> Answer:
        """The answer; `emit` gets its text as it comes. Raises Failure."""
        failure = None
        try:
            response = await self._response(request, emit)
        except Exception as error:  # of the library, its clients, or the transport below them
            failure = failure_of(error, self._endpoint)
            if failure is None:
                raise
        if failure is not None:
            raise failure  # here, so that it carries nothing of the error that may hold a secret
        return self._answer(response)

    async def _response(self, request: Request, emit: Callable[[str], None]) -> ModelResponse:
        model = (await connections()).model(self, self._made)
        messages = messages_of(request)
        parameters = parameters_of(request, model.profile)
        settings = self._settings(request)
        if not self._endpoint.stream:
            response = await model.request(messages, settings, parameters)
            if text := text_of(response):
                emit(text)
            return response
        async with model.request_stream(messages, settings, parameters) as stream:
            async for event in stream:
                if text := _text_in(event):
                    emit(text)
            return stream.get()

    def _settings(self, request: Request) -> ModelSettings:
        settings = self._endpoint.params.settings(self._provider.dialect)
        if request.idempotency_key and self._provider.dialect == "openai":
            headers = settings.setdefault("extra_headers", {})
            headers.setdefault("Idempotency-Key", _header_of(request.idempotency_key))
        return cast(ModelSettings, settings)

    def _answer(self, response: ModelResponse) -> Answer:
        content, calls, taken = text_of(response), calls_of(response), response.usage
        if self._endpoint.stream and _broke_off(response):
            what = f"{self._provider.name} ended its stream in the middle"
            raise Failure(what, "check base_url and the network")
        if not content and not calls:
            self._refuse_silence(response)
        return Answer(
            content,
            usage=self._usage(taken),
            calls=calls,
            cached_tokens=taken.cache_read_tokens,
            record=self._record(response) if calls else None,
        )

    def _record(self, response: ModelResponse) -> dict[str, Any]:
        text = self._endpoint.redaction.of(json.dumps(record_of(response), ensure_ascii=False))
        record: dict[str, Any] = json.loads(text)
        return record

    def _usage(self, taken: RequestUsage) -> Usage:
        tokens = taken.input_tokens, taken.output_tokens
        cost = 0.0
        if self._provider.prices and not is_local(self._endpoint.address):
            cost = usd(
                self._endpoint.model,
                *tokens,
                provider=self._provider.prices,
                cache_read=taken.cache_read_tokens,
                cache_write=taken.cache_write_tokens,
            )
        return Usage(self._endpoint.model, *tokens, cost)

    def _refuse_silence(self, response: ModelResponse) -> None:
        who = f"{self._provider.name}'s {self._endpoint.model!r}"
        if response.finish_reason == "length":
            what = f"{who} used up its tokens before it said anything"
            raise Failure(what, "raise params.max_tokens", lasting=True)
        if response.finish_reason == "content_filter":
            refusal = (response.provider_details or {}).get("refusal", "")
            what = f"{who} declined to answer" + (f" ({refusal})" if refusal else "")
            raise Failure(what, "change the input or the role", lasting=True)

    # The library's models

    def _made(self, held: Connections) -> Model[Any]:
        endpoint, client = self._endpoint, held.client(self._endpoint.params.timeout)
        name, address, key = endpoint.model, endpoint.address, endpoint.key or NO_KEY
        if self._provider.dialect == "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(api_key=key, base_url=address, http_client=client)
            return AnthropicModel(name, provider=anthropic)
        if self._provider.dialect == "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            google = GoogleProvider(api_key=key, base_url=address, http_client=client)
            return GoogleModel(name, provider=google)
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

        if self._provider.name == "openai" and endpoint.is_own_address:
            openai = OpenAIProvider(base_url=address, api_key=key, http_client=client)
            return OpenAIChatModel(name, provider=openai)
        similar = OpenAICompatibleProvider(
            self._provider.name,
            base_url=address,
            api_key=key,
            http_client=client,
            profile=self._profile(),
        )
        return OpenAIChatModel(name, provider=similar, profile=self._differences())

    def _profile(self) -> Callable[[str], ModelProfile | None] | None:
        """What the vendor's models can do; None: what models behind such an address usually can."""
        if not self._provider.profile or self._provider.name == "openai":
            return None
        module, _, name = self._provider.profile.partition(":")
        vendor: type[Provider[Any]] = getattr(
            import_module(f"pydantic_ai.providers.{module}"), name
        )
        return vendor.model_profile

    def _differences(self) -> ModelProfile | None:
        """Servers that only resemble OpenAI's know `max_tokens`, not its newer name."""
        if self._provider.name == "azure":
            return None
        return cast(ModelProfile, {"openai_chat_supports_max_completion_tokens": False})


def _header_of(idempotency_key: str) -> str:
    """The key as a header takes it: ASCII, and short however deep the address."""
    return sha256(idempotency_key.encode()).hexdigest()


def _text_in(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


def _broke_off(response: ModelResponse) -> bool:
    """A stream without an end mark and without usage was cut, though the connection closed well."""
    details = response.provider_details or {}
    return bool(response.usage.unmeasured_requests) and "finish_reason" not in details
