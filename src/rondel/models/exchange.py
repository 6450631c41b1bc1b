"""One exchange with a real model, through the provider library; imported on first use only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, cast

from pydantic_ai.embeddings import EmbeddingResult, EmbeddingSettings
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from rondel.engine.protocols import Usage
from rondel.graph.surrogates import whole
from rondel.models.connections import connections
from rondel.models.dialogue import (
    OPENING,
    messages_of,
    parameters_of,
    record_of,
    response_text,
    thoughts_of,
    tool_calls_of,
)
from rondel.models.embedder import Purpose
from rondel.models.endpoint import Endpoint
from rondel.models.library import embedding_model_of, model_of
from rondel.models.library_errors import failure_of
from rondel.models.metering import counted, said_in
from rondel.models.model import ModelAnswer, Request
from rondel.models.real import OPENAI
from rondel.models.tokens import count_input, count_tokens
from rondel.models.tries import Failure


class Exchange:
    """Asks one model, once a call: no retries, no limits."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._provider = endpoint.provider
        self._hinted = endpoint.provider.dialect.hinted and endpoint.hints

    async def once(self, request: Request, emit: Callable[[str], None]) -> ModelAnswer:
        """The answer; its text is streamed to `emit`. Raises Failure."""
        failure = None
        heard: list[str] = []

        def hear(text: str) -> None:
            heard.append(text)
            emit(text)

        try:
            response = await self._response(request, hear)
        except asyncio.CancelledError:
            request.charge(self._broken_off(request, "".join(heard)))
            raise
        except Exception as error:  # of the library, its clients, or the transport below them
            failure = failure_of(error, self._endpoint)
            if failure is None:
                raise
        if failure is not None:
            if heard or failure.reached == "worked":
                failure.usage = self._broken_off(request, "".join(heard))
            elif failure.reached == "refused" and not failure.later:
                failure.usage = Usage(self._endpoint.model, estimated=True, finish_reason="error")
            raise failure  # here, so that it carries nothing of the error that may hold a secret
        return self._answer(response, request)

    async def _response(self, request: Request, emit: Callable[[str], None]) -> ModelResponse:
        pool = await connections()
        model = pool.model(self, partial(model_of, self._endpoint))
        opening = "" if self._provider.dialect.takes_nothing else OPENING
        messages = messages_of(request, self._hinted, opening)
        parameters = parameters_of(request, model.profile)
        settings = self._settings(request)
        if not self._endpoint.stream:
            response = await model.request(messages, settings, parameters)
            if thought := thoughts_of(response):
                request.think(thought)
            if text := response_text(response):
                emit(text)
            return response
        async with model.request_stream(messages, settings, parameters) as stream:
            async for event in stream:
                if text := _text_in(event):
                    emit(text)
                elif thought := _thought_in(event):
                    request.think(thought)
            return stream.get()

    def _settings(self, request: Request) -> ModelSettings:
        settings = self._endpoint.params.settings(self._provider.dialect)
        if self._hinted and request.tools:  # the next turn repeats the whole conversation
            settings[f"{self._provider.dialect.name}_cache_messages"] = True
        if request.idempotency_key and self._provider.dialect is OPENAI:
            headers = settings.setdefault("extra_headers", {})
            headers.setdefault("Idempotency-Key", _header_of(request.idempotency_key))
        return cast(ModelSettings, settings)

    def _answer(self, response: ModelResponse, request: Request) -> ModelAnswer:
        details = response.provider_details or {}
        answer = ModelAnswer(
            whole(response_text(response)),
            calls=tool_calls_of(response),
            finish_reason=response.finish_reason or str(details.get("finish_reason") or ""),
            refusal=whole(str(details.get("refusal") or "")),
        )
        if self._endpoint.stream and _broke_off(response):
            what = f"{self._provider.name} ended its stream in the middle"
            usage = self._broken_off(request, said_in(answer))
            raise Failure(what, "check base_url and the network", usage=usage)
        usage = self._usage(
            response.usage, answer, request, whole(response.provider_response_id or "")
        )
        return replace(
            answer,
            usage=usage,
            record=self._record(response) if answer.calls else None,
        )

    def _record(self, response: ModelResponse) -> dict[str, Any]:
        text = self._endpoint.redaction.of(json.dumps(record_of(response), ensure_ascii=False))
        record: dict[str, Any] = json.loads(text)
        return record

    def _usage(
        self, taken: RequestUsage, answer: ModelAnswer, request: Request, response_id: str
    ) -> Usage:
        """The usage of an answer: what is reported, if that is plausible."""
        said = said_in(answer)
        count = counted(taken.input_tokens, taken.output_tokens, request, said)
        tokens = count.input_tokens, count.output_tokens
        cached, written = (
            _part_of(figure, count.input_tokens)
            for figure in (taken.cache_read_tokens, taken.cache_write_tokens)
        )
        return Usage(
            self._endpoint.model,
            *tokens,
            self._price(*tokens, cached, written),
            cached_tokens=cached,
            reasoning_tokens=_part_of(_thought(taken.details), count.output_tokens),
            estimated=count.estimated,
            finish_reason=answer.finish_reason,
            request_id=response_id,
        )

    def _broken_off(self, request: Request, said: str) -> Usage:
        """The usage of a broken call: all that was sent, and what had arrived."""
        tokens = count_input(request), count_tokens(said)
        price = self._price(*tokens)
        return Usage(self._endpoint.model, *tokens, price, estimated=True, finish_reason="error")

    def _price(self, taken: int, given: int, cached: int = 0, written: int = 0) -> float:
        tariff = self._endpoint.tariff
        return tariff.usd(taken, given, cache_read=cached, cache_write=written) or 0.0


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


def _thought_in(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=ThinkingPart(content=text)):
            return text
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought)):
            return thought or ""
    return ""


def _broke_off(response: ModelResponse) -> bool:
    """Whether a stream was cut: it has no end mark and no usage."""
    details = response.provider_details or {}
    return bool(response.usage.unmeasured_requests) and "finish_reason" not in details


def _thought(details: Mapping[str, int]) -> int | None:
    """The tokens of thoughts, by OpenAI's name or Google's."""
    return details.get("reasoning_tokens") or details.get("thoughts_tokens")


def _part_of(figure: Any, all_of_them: int) -> int:
    """The figure if it can be part of `all_of_them`; 0 otherwise."""
    return figure if type(figure) is int and 0 <= figure <= all_of_them else 0


class EmbeddingExchange:
    """Asks one model once, without retries or limits."""

    def __init__(self, endpoint: Endpoint, dimensions: int | None) -> None:
        self._endpoint = endpoint
        settings = endpoint.params.settings(endpoint.provider.dialect)
        kept: dict[str, Any] = {}
        for name in ("extra_headers", "extra_body"):
            if name in settings:
                kept[name] = settings[name]
        if dimensions is not None:
            kept["dimensions"] = dimensions
        self._settings = cast(EmbeddingSettings, kept)

    async def once(self, texts: Sequence[str], purpose: Purpose) -> EmbeddingResult:
        """The vectors of the texts. Raises Failure."""
        pool = await connections()
        model = pool.model(self, partial(embedding_model_of, self._endpoint))
        failure: Failure | None
        try:
            result = await model.embed(texts, input_type=purpose, settings=self._settings)
        except ValueError:  # what the client says of an answer without vectors
            failure = self._missing(0, len(texts))
        except Exception as error:  # of the library, its clients, or the transport below them
            failure = failure_of(error, self._endpoint)
            if failure is None:
                raise
        else:
            if len(result.embeddings) == len(texts):
                return result
            failure = self._missing(len(result.embeddings), len(texts))
        raise failure  # here, so that it carries nothing of the error that may hold a secret

    def _missing(self, found: int, wanted: int) -> Failure:
        what = f"{self._endpoint.provider.name} sent {found} vectors for {wanted} texts"
        return Failure(what, "check that name is a model that embeds", lasting=True)
