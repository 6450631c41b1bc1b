"""The bridge to real models: limits, retries, and errors of one clear line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.errors import ModelError
from rondel.models.endpoint import Endpoint
from rondel.models.headers import listening, request_id_in
from rondel.models.limiter import limiter_of
from rondel.models.metering import most_of_call
from rondel.models.model import Files, ModelAnswer, Request
from rondel.models.real import PROVIDERS
from rondel.models.real_config import BedrockConfig, RealConfig, VertexConfig, config_of
from rondel.models.tokens import attached_to
from rondel.models.tries import Backoff, Failure, Tries

if TYPE_CHECKING:
    from rondel.models.exchange import Exchange


NOTICED = 2.0
"""Seconds of waiting that whoever watches is told of."""


class BridgeModel:
    """Asks a real model until it answers, within the limits of its provider."""

    def __init__(self, config: RealConfig, registry: Registry) -> None:
        self._config = config
        self._registry = registry
        self._endpoint = endpoint = config.endpoint()
        self._backoff = Backoff(config.attempts, config.backoff)
        self._limiter = limiter_of(endpoint.provider.name, endpoint.address)
        self._exchange: Exchange | None = None

    async def answer(self, request: Request) -> ModelAnswer:
        """The answer; an empty piece makes void what a failed attempt streamed."""
        request = await self._with_files(request)
        tries = Tries(self._backoff, self._limiter)
        heard, number = False, 0
        why = f"{self._endpoint.provider.name} takes no more calls for now"

        def waits(seconds: float) -> None:
            if seconds >= NOTICED:
                request.waits(seconds, self._endpoint.redaction.of(why))

        def emit(chunk: str) -> None:
            nonlocal heard
            heard = True
            request.emit(chunk)

        while True:
            asked = replace(request, idempotency_key=tries.key(request.idempotency_key))
            number += 1
            outcome = await self._attempt(asked, emit, tries.ticket, number, waits)
            if isinstance(outcome, ModelAnswer):
                self._limiter.answered()
                if outcome.is_cut_off or not outcome.is_empty:
                    return outcome
                tries.said_nothing += 1
                outcome = self._silence(outcome)
            if outcome.usage is not None:
                request.charge(outcome.usage)
            pause = tries.pause_after(outcome)
            if pause is None:
                raise self._error(outcome, tries.failed)
            if heard:
                heard = False
                request.emit("")
            why = outcome.what
            waits(pause)
            await asyncio.sleep(pause)
            await request.leave()

    def most(self, request: Request) -> Usage | None:
        """The most that one attempt can use."""
        config = self._config
        return most_of_call(config.tariff, config.params.get("max_tokens"), request)

    async def _with_files(self, request: Request) -> Request:
        parts = list(attached_to(request))
        if not parts:
            return request
        files: Files = self._registry.service("attachments")
        loaded = {part.attachment: await files.load(part) for part in parts}
        return replace(request, files=loaded)

    async def _attempt(
        self,
        request: Request,
        emit: Callable[[str], None],
        ticket: int,
        number: int,
        waits: Callable[[float], None],
    ) -> ModelAnswer | Failure:
        exchange = self._exchange or await self._opened()
        config = self._config
        limits = config.max_concurrency, config.requests_per_minute
        async with self._limiter.slot(*limits, ticket, waits):
            started = time.monotonic()
            with listening() as headers:
                try:
                    outcome: ModelAnswer | Failure = await exchange.once(request, emit)
                except Failure as failure:
                    outcome = failure
                finally:
                    self._limiter.told(headers)
        return _noted(outcome, number, request_id_in(headers), time.monotonic() - started)

    async def _opened(self) -> Exchange:
        """The library takes a second or two to import: not in the event loop."""
        self._exchange = await asyncio.to_thread(_exchange_with, self._endpoint)
        return self._exchange

    def _silence(self, answer: ModelAnswer) -> Failure:
        what = f"{self._endpoint.provider.name}'s {self._endpoint.model!r} answered nothing"
        return Failure(what, "change the input or the role", usage=answer.usage)

    def _error(self, failure: Failure, failed: int) -> ModelError:
        tries = f", {failed} times in a row" if failed > 1 else ""
        if failure.retry_after is not None and failed < self._config.attempts:
            tries = f", and asks for {failure.retry_after:.0f} s of patience"
        text = f"{failure.what}{tries}; {failure.remedy}"
        return ModelError(self._endpoint.redaction.of(text), retryable=not failure.lasting)


def _noted(
    outcome: ModelAnswer | Failure, attempt: int, request_id: str, duration: float
) -> ModelAnswer | Failure:
    """The usage of a call, with its number and its id at the provider."""
    if outcome.usage is None:
        return outcome
    about = {"attempt": attempt, "request_id": request_id or outcome.usage.request_id}
    usage = msgspec.structs.replace(outcome.usage, duration=duration, **about)
    if isinstance(outcome, ModelAnswer):
        return replace(outcome, usage=usage)
    outcome.usage = usage
    return outcome


def _exchange_with(endpoint: Endpoint) -> Exchange:
    from rondel.models.exchange import Exchange

    return Exchange(endpoint)


CLOUDS: dict[str, type[RealConfig]] = {"bedrock": BedrockConfig, "vertex": VertexConfig}


def register(registry: Registry) -> None:
    """Add every provider that is reached over a network."""
    for real in PROVIDERS:
        base = CLOUDS.get(real.name, RealConfig)
        config = config_of(real, base, f"{real.name.capitalize()}Config")
        registry.provider(real.name, config, BridgeModel)
