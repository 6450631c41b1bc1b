"""The bridge to real models: limits, retries and one clear line when it does not work out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from pydantic import Field, field_validator

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.errors import CallError, ModelError
from rondel.graph.guarantees import NO_KEYS, Guarantee
from rondel.graph.quantities import Wait
from rondel.models.endpoint import Endpoint, is_local, is_loopback
from rondel.models.failure import Failure
from rondel.models.largest_call import largest_call, most_of_call
from rondel.models.limiter import limiter_of
from rondel.models.model import Answer, Files, ProviderConfig, Request
from rondel.models.params import Params
from rondel.models.prices import Tariff
from rondel.models.real import PROVIDERS, RealProvider
from rondel.models.redaction import Text
from rondel.models.tries import Backoff, Tries

if TYPE_CHECKING:
    from rondel.models.exchange import Exchange

Count = Annotated[int, Field(strict=True, ge=1)]


class RealConfig(ProviderConfig):
    """Which model, where, with which key, and how hard it is tried."""

    real: ClassVar[RealProvider]

    name: str = Field(min_length=1)
    attempts: Annotated[Count, Field(le=20)] = 4
    backoff: Wait = 0.5
    max_concurrency: Count = 32
    requests_per_minute: Count | None = None
    stream: bool = True

    def guarantee(self) -> Guarantee:
        """One answer in words, no longer than the model's context."""
        calls = largest_call(self.tariff, self.params.get("max_tokens"), self.attempts)
        return Guarantee(routes=False, emits=True, keys=NO_KEYS, passes=False, calls=calls)

    @property
    def tariff(self) -> Tariff:
        """What the model costs: nobody lists what is asked for at a local address."""
        local = self.base_url is not None and is_local(self.base_url)
        real = self.real
        return Tariff(self.name, real.prices, self.price, listed=not local, free=real.free)

    @field_validator("params")
    @classmethod
    def _params_are_right(cls, params: dict[str, Any]) -> dict[str, Any]:
        refused = Params.model_validate(params).refused_by(cls.real.dialect)
        if refused:
            raise ValueError(f"{cls.real.name} does not take {', '.join(refused)}")
        return params

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, base_url: str | None) -> str | None:
        if base_url is not None:
            parts = urlsplit(base_url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("must be an address like https://example.org/v1")
            if parts.fragment:
                raise ValueError("must have no fragment: what follows # is never sent")
        return base_url


class AddressedConfig(RealConfig):
    """The same for a provider that is not at one known address."""

    base_url: Text = Field(min_length=1)


class BridgeModel:
    """Asks a real model until it answers, within the limits of its provider."""

    def __init__(self, config: RealConfig, endpoint: Endpoint, registry: Registry) -> None:
        self._config = config
        self._registry = registry
        self._endpoint = endpoint
        self._backoff = Backoff(config.attempts, config.backoff)
        self._limiter = limiter_of(endpoint.provider.name, endpoint.address)
        self._exchange: Exchange | None = None

    async def answer(self, request: Request) -> Answer:
        """The answer; what failed attempts streamed is followed by an empty piece, and void."""
        request = await self._with_files(request)
        tries = Tries(self._backoff, self._limiter)
        heard = False

        def emit(chunk: str) -> None:
            nonlocal heard
            heard = True
            request.emit(chunk)

        while True:
            asked = replace(request, idempotency_key=tries.key(request.idempotency_key))
            outcome = await self._attempt(asked, emit, tries.ticket)
            if isinstance(outcome, Answer):
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
            await asyncio.sleep(pause)
            await request.leave()

    def most(self, request: Request) -> Usage | None:
        """The most that one attempt can take."""
        config = self._config
        return most_of_call(config.tariff, config.params.get("max_tokens"), request)

    async def _with_files(self, request: Request) -> Request:
        parts = [
            part
            for message in request.messages
            for part in (message.content if isinstance(message.content, list) else ())
            if part.attachment
        ]
        if not parts:
            return request
        files: Files = self._registry.service("attachments")
        loaded = {part.attachment: await files.load(part) for part in parts}
        return replace(request, files=loaded)

    async def _attempt(
        self, request: Request, emit: Callable[[str], None], ticket: int
    ) -> Answer | Failure:
        exchange = self._exchange or await self._opened()
        config = self._config
        async with self._limiter.slot(config.max_concurrency, config.requests_per_minute, ticket):
            started = time.monotonic()
            try:
                return await exchange.once(request, emit)
            except Failure as failure:
                if failure.usage is not None:
                    took = time.monotonic() - started
                    failure.usage = msgspec.structs.replace(failure.usage, duration=took)
                return failure

    async def _opened(self) -> Exchange:
        """The library takes a second or two to import: not in the event loop."""
        self._exchange = await asyncio.to_thread(_exchange_with, self._endpoint)
        return self._exchange

    def _silence(self, answer: Answer) -> Failure:
        what = f"{self._endpoint.provider.name}'s {self._endpoint.model!r} answered nothing"
        return Failure(what, "change the input or the role", usage=answer.usage)

    def _error(self, failure: Failure, failed: int) -> ModelError:
        tries = f", {failed} times in a row" if failed > 1 else ""
        if failure.retry_after is not None and failed < self._config.attempts:
            tries = f", and asks for {failure.retry_after:.0f} s of patience"
        text = f"{failure.what}{tries}; {failure.remedy}"
        return ModelError(self._endpoint.redaction.of(text), retryable=not failure.lasting)


def _exchange_with(endpoint: Endpoint) -> Exchange:
    from rondel.models.exchange import Exchange

    return Exchange(endpoint)


def _build(config: RealConfig, registry: Registry) -> BridgeModel:
    real = config.real
    endpoint = Endpoint(
        real,
        config.name,
        config.base_url or real.address,
        _key(config),
        Params.model_validate(config.params),
        config.stream,
        config.tariff,
    )
    return BridgeModel(config, endpoint, registry)


def _key(config: RealConfig) -> str | None:
    """The key that is set, else the environment's; that one is for the provider's own address.

    A graph that names another address does not get a key that was made for the provider, unless
    the graph says so or the address is of this machine.
    """
    real = config.real
    if config.api_key is not None and (given := config.api_key.get_secret_value().strip()):
        return given
    at_home = config.base_url is None or not real.address or is_loopback(config.base_url)
    found = next(filter(None, (os.environ.get(name, "").strip() for name in real.keys)), None)
    if found and at_home:
        return found
    if config.base_url is None and real.keys:
        raise CallError(
            f"the provider {real.name!r} needs a key: set {real.keys[0]} in the environment or "
            "api_key in the graph, or run with --provider simulated"
        )
    return None


def _config_of(real: RealProvider) -> type[RealConfig]:
    base = RealConfig if real.address else AddressedConfig
    name = f"{real.name.capitalize()}Config"
    return type(name, (base,), {"real": real, "__module__": __name__, "__doc__": base.__doc__})


def register(registry: Registry) -> None:
    """Add every provider that is reached over a network."""
    for real in PROVIDERS:
        registry.provider(real.name, _config_of(real), _build)
