"""Which provider a graph chooses; beside its name stand that provider's own options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    create_model,
    field_validator,
    model_validator,
)

from rondel.engine.registry import Registry
from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.models.model import Model, ProviderConfig
from rondel.models.real import REAL_PROVIDERS


class ChoiceConfig(ProviderConfig):
    """A provider of some kind; it is used through `knowing`, which gives it a registry."""

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"additionalProperties": False}
    )
    registry: ClassVar[Registry]
    kind: ClassVar[str]
    """The kind under which such providers are registered."""
    ours: ClassVar[frozenset[str]] = frozenset({"provider"})
    """The fields that are not the provider's."""

    provider: str

    @property
    def options(self) -> ProviderConfig:
        """The config of the provider itself: the fields they share, and the provider's own."""
        model: type[ProviderConfig] = (
            self.registry.config_model(self.kind, self.provider) or ProviderConfig
        )
        given = {name: getattr(self, name) for name in self.model_fields_set - self.ours}
        return model.model_validate(given, context={"registry": self.registry, **self.context})

    @classmethod
    def known(cls) -> Iterable[str]:
        """The names that may be chosen."""
        return cls.registry.names(cls.kind)

    @classmethod
    def refusal(cls, provider: str, hint: str) -> str:
        """The sentence for a name that may not be chosen."""
        return f"there is no provider {provider!r}; {hint}"

    @field_validator("provider")
    @classmethod
    def _provider_is_known(cls, provider: str) -> str:
        known = Names(cls.known())
        if provider not in known:
            raise ValueError(cls.refusal(provider, known.hint(provider)))
        return provider

    @model_validator(mode="after")
    def _options_are_right(self) -> Self:
        _ = self.options
        return self


Choice = TypeVar("Choice", bound=ChoiceConfig)


Config = TypeVar("Config", bound=BaseModel)


def with_types(base: type[Config], **types: Any) -> type[Config]:
    """The config with other types of these fields; what else is said of a field stays."""
    fields = _retyped(base, types)
    return create_model(base.__name__, __base__=base, __module__=base.__module__, **fields)


def _retyped(base: type[BaseModel], types: dict[str, Any]) -> dict[str, Any]:
    return {name: (kind, base.model_fields[name]) for name, kind in types.items()}


def knowing(registry: Registry, base: type[Choice], name: str = "", **types: Any) -> type[Choice]:
    """The config with the options of every provider that `registry` has so far.

    They are declared for editors and hints only: the provider that is set checks its own, also
    one that is registered later. `types` are the new types of fields, `name` is
    what it is called in place of its base.
    """
    declared: dict[str, Any] = {
        option: (
            Annotated[field.annotation, SkipValidation],
            Field(field.default, description=field.description),
        )
        for provider in registry.names(base.kind)
        for option, field in registry.config_model(base.kind, provider).model_fields.items()
        if option not in base.model_fields
    }
    fields = {**_retyped(base, types), **declared}
    bound = create_model(name or base.__name__, __base__=base, __module__=base.__module__, **fields)
    bound.registry = registry
    return bound


class ModelConfig(ChoiceConfig):
    """A model of some provider; beside these fields stand the provider's own options."""

    kind: ClassVar[str] = "provider"

    provider: str = Field(description="Who answers.")

    @classmethod
    def known(cls) -> Iterable[str]:
        """Also those that run on another provider only, so that a graph with them loads."""
        return *super().known(), *REAL_PROVIDERS

    def built(self, registry: Registry) -> Model:
        """The model, ready to be asked."""
        if self.provider not in registry.names(self.kind):
            available = " and ".join(registry.names(self.kind))
            raise CallError(
                f"the provider {self.provider!r} is not part of this version, which has "
                f"{available}; run with --provider simulated, or set another provider in the graph"
            )
        model: Model = registry.build(self.kind, self.provider, self.options)
        return model
