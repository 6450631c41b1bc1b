"""The node type `agent`: a language model answers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    create_model,
    field_validator,
    model_validator,
)

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.errors import CallError
from rondel.graph.guarantees import Guarantee
from rondel.graph.names import Names
from rondel.graph.recall import ALL, Recall
from rondel.models.model import Model, ProviderConfig, Request
from rondel.models.prices import SIMULATED
from rondel.models.real import REAL_PROVIDERS
from rondel.nodes.agent_guarantee import any_of, guarantee_of_agent
from rondel.nodes.asking import MAX_TOOL_CALLS, Asker, InputMode
from rondel.nodes.recollection import shown
from rondel.nodes.structured import AnswerSchema, checked_schema
from rondel.nodes.tools import ServerEntry, Toolbox, ToolEntry, entry_type


class RecallConfig(BaseModel):
    """What an agent is shown besides its messages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: bool = Field(True, strict=True, description="Whether it is shown the session's task.")
    own: Annotated[int, Field(strict=True, ge=0)] | Literal["all"] = Field(
        1, description="How many of its own newest outputs of this loop it is shown."
    )


class ModelConfig(ProviderConfig):
    """A model of some provider; beside these fields stand the provider's own options."""

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"additionalProperties": False}
    )
    registry: ClassVar[Registry]

    provider: str = Field(description="Who answers.")

    @property
    def options(self) -> ProviderConfig:
        """What the provider is built from: the fields it shares with this config, and its own."""
        model: type[ProviderConfig] = (
            self.registry.config_model("provider", self.provider) or ProviderConfig
        )
        ours = AgentConfig.model_fields.keys() - ProviderConfig.model_fields.keys()
        given = {name: getattr(self, name) for name in self.model_fields_set - ours}
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


class AgentConfig(ModelConfig):
    """Which model answers, in what role; beside these fields stand the provider's own options.

    It is used through `config_for(registry)`, which knows the providers.
    """

    provider: str = "simulated"
    fallback: list[ModelConfig] = Field(
        [], description="Models that are asked, in this order, when the first cannot answer."
    )
    role: str = ""
    input_mode: InputMode = "messages"
    output_schema: dict[str, Any] | None = Field(
        None, description="The JSON Schema of the answer, an object; it becomes data."
    )
    tools: list[ToolEntry] = Field(
        [], description="What the model may call: names of Python functions, MCP servers."
    )
    max_tool_calls: Annotated[int, Field(strict=True, ge=1)] = MAX_TOOL_CALLS
    accept_incomplete: bool = Field(
        False, description="Whether an answer that was cut off is handed on; if not, it fails."
    )
    recall: RecallConfig | None = Field(
        None,
        description="What it is shown besides its messages; without it the task and its own last "
        "output of this loop, and in a foreign dialect nothing.",
    )

    def recalls(self) -> Recall | None:
        """What an agent node asks to be shown."""
        if self.recall is None:
            return None
        own = self.recall.own
        return Recall(self.recall.task, ALL if own == "all" else own)

    def guarantee(self) -> Guarantee:
        """One answer, in so many calls at most."""
        tool_calls = self.max_tool_calls if self.tools else 0
        models = (self.options, *(each.options for each in self.fallback))
        return any_of([guarantee_of_agent(each, self.output_schema, tool_calls) for each in models])

    @property
    def commands(self) -> list[str]:
        """The programs that it starts; a simulated model calls no tools."""
        servers = [each.mcp for each in self.tools if isinstance(each, ServerEntry)]
        starts = self.provider != SIMULATED
        return [server.shown for server in servers if starts and server.command]

    def with_provider(self, provider: str, **options: Any) -> Self:
        """The same agent on that provider alone; options that it does not know are left out."""
        model = self.registry.config_model("provider", provider) or ProviderConfig
        known = (AgentConfig.model_fields.keys() | model.model_fields.keys()) - {"fallback"}
        given = {name: getattr(self, name) for name in self.model_fields_set & known}
        changed = {**given, "provider": provider, **options}
        return type(self).model_validate(changed, context=self.context)

    @field_validator("output_schema")
    @classmethod
    def _is_a_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if schema is None else checked_schema(schema)


class MemberConfig(AgentConfig):
    """An agent inside a node of another type, which tells it all that it needs to know."""

    @field_validator("recall")
    @classmethod
    def _is_told_by_its_node(cls, recall: RecallConfig | None) -> RecallConfig | None:
        if recall is not None:
            raise ValueError(
                "an agent inside a node is shown what that node asks it, and recalls nothing; "
                "drop recall"
            )
        return recall


class AgentProcessor:
    """Asks the model and emits its answer; the node's state is the number of calls so far."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def process(self, ctx: Context) -> Emit:
        index = (ctx.state or 0) + ctx.offset + ctx.attempt - 1
        request = Request(
            node_id=ctx.node_id,
            messages=shown(ctx),
            idempotency_key=ctx.idempotency_key,
            text=ctx.text,
            data=ctx.data,
            index=index,
            round=ctx.round,
            address=ctx.address,
        )
        heard = await self._asker.hear(ctx, request, ctx.node_id)
        answer = heard.answer
        return Emit((Message(answer.content, answer.data),), index + heard.calls)


def asker_of(config: AgentConfig, registry: Registry) -> Asker:
    """The model that a config sets, ready to be asked."""
    uses_tools = config.tools and config.provider != SIMULATED
    return Asker(
        model=config.built(registry),
        role=config.role,
        input_mode=config.input_mode,
        schema=None if config.output_schema is None else AnswerSchema(config.output_schema),
        toolbox=Toolbox(config.tools, registry) if uses_tools else None,
        max_tool_calls=config.max_tool_calls,
        accept_incomplete=config.accept_incomplete,
        name=config.name,
        fallback=tuple((each.name, each.built(registry)) for each in config.fallback),
    )


def config_for(registry: Registry, base: type[AgentConfig] = AgentConfig) -> type[AgentConfig]:
    """The agent's config with the options of every provider that `registry` has so far.

    They are declared for editors and hints only: the provider that is set checks its own, also
    one that is registered later.
    """
    entries: Any = list[entry_type(registry)]  # type: ignore[misc]
    other = create_model(
        "ModelConfig", __base__=ModelConfig, __module__=__name__, **_declared(registry)
    )
    other.registry = registry
    others: Any = list[other]
    bound = create_model(
        "AgentConfig",
        __base__=base,
        __module__=__name__,
        fallback=(others, AgentConfig.model_fields["fallback"]),
        tools=(entries, AgentConfig.model_fields["tools"]),
        **_declared(registry),
    )
    bound.registry = registry
    return bound


def _declared(registry: Registry) -> dict[str, Any]:
    return {
        name: (Annotated[field.annotation, SkipValidation], field.default)
        for provider in registry.names("provider")
        for name, field in registry.config_model("provider", provider).model_fields.items()
        if name not in AgentConfig.model_fields
    }


def register(registry: Registry) -> None:
    """Add `agent`."""
    registry.node(
        "agent",
        config_for(registry),
        lambda config, registry: AgentProcessor(asker_of(config, registry)),
    )
