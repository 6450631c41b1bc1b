"""The protocol of embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from operator import mul
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

from pydantic import (
    ConfigDict,
    Field,
    SkipValidation,
    create_model,
    field_validator,
    model_validator,
)

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.graph.names import Names
from rondel.models.model import ProviderConfig

Purpose = Literal["query", "document"]
"""Whether a text is a query or a document; some models embed these differently."""

Vector = Sequence[float]
KIND = "embedder"
"""The kind under which embedding providers are registered."""


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


class EmbeddingConfig(ProviderConfig):
    """An embedding model; further fields are the provider's own options.

    It is used through `embedding_config_for(registry)`, which knows the providers.
    """

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"additionalProperties": False}
    )
    registry: ClassVar[Registry]

    provider: str = Field("simulated", description="Whose model embeds.")

    @property
    def options(self) -> ProviderConfig:
        """What the embedder is built from."""
        model: type[ProviderConfig] = self.registry.config_model(KIND, self.provider)
        given = {name: getattr(self, name) for name in self.model_fields_set - {"provider"}}
        return model.model_validate(given, context=self.context)

    def built(self, registry: Registry) -> Embedder:
        """The embedder, ready to be asked."""
        embedder: Embedder = registry.build(KIND, self.provider, self.options)
        return embedder

    def simulated(self) -> Self:
        """The simulated embedder in its place."""
        return type(self).model_validate({"name": self.name}, context=self.context)

    @field_validator("provider")
    @classmethod
    def _provider_is_known(cls, provider: str) -> str:
        known = Names(cls.registry.names(KIND))
        if provider not in known:
            raise ValueError(f"no provider {provider!r} embeds; {known.hint(provider)}")
        return provider

    @model_validator(mode="after")
    def _options_are_right(self) -> Self:
        _ = self.options
        return self


def embedding_config_for(registry: Registry) -> type[EmbeddingConfig]:
    """The config with the options of every embedder that `registry` has so far."""
    declared: dict[str, Any] = {
        name: (
            Annotated[field.annotation, SkipValidation],
            Field(field.default, description=field.description),
        )
        for provider in registry.names(KIND)
        for name, field in registry.config_model(KIND, provider).model_fields.items()
        if name not in EmbeddingConfig.model_fields
    }
    bound = create_model(
        "EmbeddingConfig", __base__=EmbeddingConfig, __module__=__name__, **declared
    )
    bound.registry = registry
    return bound
