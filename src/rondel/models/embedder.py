"""The protocol of embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from operator import mul
from typing import ClassVar, Literal, Protocol

from pydantic import Field

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.models.choice import ChoiceConfig

Purpose = Literal["query", "document"]
"""Whether a text is a query or a document; some models embed these differently."""

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of texts, in order, and the usage of each call."""

    vectors: Sequence[Vector]
    usages: Sequence[Usage] = field(default=())


class Embedder(Protocol):
    """An embedding model; it raises ModelError when it fails."""

    async def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Embedded: ...


def similarity(first: Vector, second: Vector) -> float:
    """The cosine of the angle between two vectors; 0 if one of them is zero."""
    lengths = sqrt(sum(map(mul, first, first)) * sum(map(mul, second, second)))
    return sum(map(mul, first, second)) / lengths if lengths else 0.0


class EmbeddingConfig(ChoiceConfig):
    """An embedding model; further fields are the provider's own options.

    It is used through `knowing`, which gives it a registry.
    """

    kind: ClassVar[str] = "embedder"

    provider: str = Field("simulated", description="Whose model embeds.")

    @classmethod
    def refusal(cls, provider: str, hint: str) -> str:
        return f"no provider {provider!r} embeds; {hint}"

    def built(self, registry: Registry) -> Embedder:
        """The embedder, ready to be asked."""
        embedder: Embedder = registry.build(self.kind, self.provider, self.options)
        return embedder
