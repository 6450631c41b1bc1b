"""The bridge to real embedding models, with the keys, limits and retries of language models."""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from cachetools import LRUCache

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.errors import ModelError
from rondel.models.embedder import Embedded, Purpose, Vector
from rondel.models.endpoint import Endpoint
from rondel.models.limiter import limiter_of
from rondel.models.metering import plausible
from rondel.models.real import EMBEDDING
from rondel.models.real_config import Count, ServedConfig, config_of
from rondel.models.tokens import count_tokens
from rondel.models.tries import Backoff, Failure, Tries

if TYPE_CHECKING:
    from rondel.models.exchange import EmbeddingExchange

BATCH = 100
"""The most texts in one call: the smallest limit of all providers."""

KNOWN = 2000
"""The most vectors that a process keeps, so that a repeated text is embedded once."""

_known: LRUCache[tuple[object, ...], Vector] = LRUCache(KNOWN)


class EmbedderConfig(ServedConfig):
    """An embedding model, and the length of its vectors where that can be chosen."""

    dimensions: Count | None = None


class BridgeEmbedder:
    """Embeds with a real model, each text once, within the limits of its provider."""

    def __init__(self, config: EmbedderConfig) -> None:
        self._config = config
        self._endpoint = endpoint = config.endpoint()
        self._backoff = Backoff(config.attempts, config.backoff)
        self._limiter = limiter_of(endpoint.provider.name, endpoint.address)
        self._exchange: EmbeddingExchange | None = None

    async def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Embedded:
        """The vectors; only those not yet known are requested."""
        keys = [self._key(text, purpose) for text in texts]
        found = {key: _known[key] for key in keys if key in _known}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        usages: list[Usage] = []
        wanted = list(new.items())
        for at in range(0, len(wanted), BATCH):
            batch = wanted[at : at + BATCH]
            vectors, usage = await self._asked([text for _, text in batch], purpose)
            usages.append(usage)
            for (key, _), vector in zip(batch, vectors, strict=True):
                found[key] = _known[key] = vector
        return Embedded([found[key] for key in keys], usages)

    def _key(self, text: str, purpose: Purpose) -> tuple[object, ...]:
        asked = self._endpoint
        digest = sha256(text.encode(errors="replace")).digest()
        model = asked.provider.name, asked.address, asked.model, self._config.dimensions
        return (*model, purpose, digest)

    async def _asked(self, texts: list[str], purpose: Purpose) -> tuple[list[Vector], Usage]:
        """The vectors of one batch, with retries."""
        exchange = self._exchange or await self._opened()
        config, tries = self._config, Tries(self._backoff, self._limiter)
        limits = config.max_concurrency, config.requests_per_minute, tries.ticket
        while True:
            try:
                async with self._limiter.slot(*limits):
                    started = time.monotonic()
                    result = await exchange.once(texts, purpose)
            except Failure as failure:
                pause = tries.pause_after(failure)
                if pause is None:
                    text = self._endpoint.redaction.of(f"{failure.what}; {failure.remedy}")
                    raise ModelError(text, retryable=not failure.lasting) from None
                await asyncio.sleep(pause)
                continue
            self._limiter.answered()
            usage = self._usage(result.usage.input_tokens, texts, time.monotonic() - started)
            return [array("f", vector) for vector in result.embeddings], usage

    async def _opened(self) -> EmbeddingExchange:
        """The library takes a second or two to import: not in the event loop."""
        self._exchange = await asyncio.to_thread(_exchange_with, self._endpoint, self._config)
        return self._exchange

    def _usage(self, reported: int, texts: list[str], duration: float) -> Usage:
        """The reported usage; Google's API reports none."""
        taken = plausible(reported) or sum(count_tokens(text) for text in texts)
        price = self._endpoint.tariff.usd(taken, 0) or 0.0
        return Usage(
            self._endpoint.model, taken, 0, price, duration, estimated=not plausible(reported)
        )


def _exchange_with(endpoint: Endpoint, config: EmbedderConfig) -> EmbeddingExchange:
    from rondel.models.exchange import EmbeddingExchange

    return EmbeddingExchange(endpoint, config.dimensions)


def register(registry: Registry) -> None:
    """Add every provider whose dialect has embeddings."""
    for real in EMBEDDING:
        config = config_of(real, EmbedderConfig, f"{real.name.capitalize()}EmbedderConfig")
        registry.embedder(real.name, config, lambda config, _: BridgeEmbedder(config))
