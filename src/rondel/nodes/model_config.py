"""Which model of which provider answers, as a graph says it."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from rondel.engine.registry import Registry
from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.models.model import Model, ProviderConfig
from rondel.models.real import REAL_PROVIDERS


class ModelConfig(ProviderConfig):
    """A model of some provider; beside these fields stand the provider's own options."""

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"additionalProperties": False}
    )
    registry: ClassVar[Registry]
    ours: ClassVar[frozenset[str]] = frozenset({"provider"})
    """The fields that are not the provider's."""

    provider: str = Field(description="Who answers.")

    @property
    def options(self) -> ProviderConfig:
        """What the provider is built from: the fields it shares with this config, and its own."""
        model: type[ProviderConfig] = (
            self.registry.config_model("provider", self.provider) or ProviderConfig
        )
        given = {name: getattr(self, name) for name in self.model_fields_set - self.ours}
        context = {"registry": self.registry, **self.context}
        config: ProviderConfig = model.model_validate(given, context=context)
        return config

    def built(self, registry: Registry) -> Model:
        """The model, ready to be asked."""
        if self.provider not in registry.names("provider"):
            available = " and ".join(registry.names("provider"))
            raise CallError(
                f"the provider {self.provider!r} is not part of this version, which has "
                f"{available}; run with --provider simulated, or set another provider in the graph"
            )
        model: Model = registry.build("provider", self.provider, self.options)
        return model

    @field_validator("provider")
    @classmethod
    def _provider_is_known(cls, provider: str) -> str:
        known = Names((*cls.registry.names("provider"), *REAL_PROVIDERS))
        if provider not in known:
            raise ValueError(f"there is no provider {provider!r}; {known.hint(provider)}")
        return provider

    @model_validator(mode="after")
    def _options_are_right(self) -> Self:
        _ = self.options
        return self
