"""The node type `agent`: a language model answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Suspend
from rondel.engine.registry import Registry
from rondel.graph.guarantees import ALL, Guarantee, Recall
from rondel.models.choice import ModelConfig, knowing, with_types
from rondel.models.model import ProviderConfig, Request
from rondel.models.prices import SIMULATED
from rondel.nodes.agent_guarantee import any_of, guarantee_of_agent, total_calls
from rondel.nodes.agent_history import shown, stable
from rondel.nodes.approval import ApprovalNeeded
from rondel.nodes.asking import MAX_TOOL_CALLS, Asker, InputMode
from rondel.nodes.compaction import ROLE, CompactConfig, Compactor, Summary, SummaryAgentConfig
from rondel.nodes.structured import AnswerSchema, checked_schema
from rondel.nodes.tools import ServerEntry, Toolbox, ToolEntry, entry_type


class RecallConfig(BaseModel):
    """What an agent is shown besides its messages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: bool = Field(True, strict=True, description="Whether it is shown the session's task.")
    own: Annotated[int, Field(strict=True, ge=0)] | Literal["all"] = Field(
        1, description="How many of its own newest outputs of this loop it is shown."
    )


class AgentConfig(ModelConfig):
    """Which model answers, in what role; beside these fields stand the provider's own options.

    It is used through `config_for(registry)`, which knows the providers.
    """

    other_names: ClassVar[Collection[str]] = (
        "llm",
        "llm_node",
        "llm_agent",
        "gpt",
        "prompt",
        "model",
        "chat",
        "chatbot",
        "assistant",
    )
    also_called: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("prompt", "system", "system_prompt", "instruction"), "role"),
        **dict.fromkeys(("instructions", "backstory", "persona"), "role"),
        **dict.fromkeys(("model", "model_name", "llm"), "name"),
        **{key: f"params.{key}" for key in ("temperature", "top_p", "max_tokens")},
        **dict.fromkeys(("schema", "response_format", "output_type"), "output_schema"),
    }

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
    approve: list[str] = Field(
        [], description="The tools whose calls a person has to allow, one by one."
    )
    max_tool_calls: Annotated[int, Field(strict=True, ge=1)] = MAX_TOOL_CALLS
    max_tool_rounds: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None,
        description="So many answers may call tools, then the last one counts as it is; "
        "max_tool_calls does not apply.",
    )
    accept_incomplete: bool = Field(
        False, description="Whether an answer that was cut off is handed on; if not, it fails."
    )
    recall: RecallConfig | None = Field(
        None,
        description="What it is shown besides its messages; without it the task and its own last "
        "output of this loop, and in a foreign dialect nothing.",
    )
    compact: CompactConfig | None = Field(
        None, description="When what it is shown gets too long, a summary of all but the newest."
    )

    def recalls(self) -> Recall | None:
        """What the node is to be shown besides its messages; None if the config does not say."""
        if self.recall is None:
            return None
        own = self.recall.own
        return Recall(self.recall.task, ALL if own == "all" else own)

    @property
    def recalls_all(self) -> bool:
        """Whether the agent is shown everything it said in its loop."""
        return self.recall is not None and self.recall.own == "all"

    def guarantee(self) -> Guarantee:
        """The agent gives one answer, in a bounded number of calls."""
        tool_calls = (self.max_tool_rounds or self.max_tool_calls) if self.tools else 0
        models = (self.options, *(each.options for each in self.fallback))
        answer = any_of(
            [guarantee_of_agent(each, self.output_schema, tool_calls) for each in models]
        )
        if self.compact is None:
            return answer
        writer = self.compact.agent or self
        writers = (writer.options, *(each.options for each in writer.fallback))
        summary = any_of([guarantee_of_agent(each, None, 0) for each in writers])
        return replace(answer, calls=total_calls([(answer, 1), (summary, 1)]))

    @property
    def commands(self) -> list[str]:
        """The programs that the agent's tools start; a simulated model calls no tools."""
        servers = [each.mcp for each in self.tools if isinstance(each, ServerEntry)]
        starts = self.provider != SIMULATED
        return [server.shown for server in servers if starts and server.command]

    @model_validator(mode="after")
    def _approves_tools(self) -> Self:
        if self.approve and not self.tools:
            raise ValueError("approve names tools, and there are none; add tools, or drop approve")
        return self

    @field_validator("output_schema")
    @classmethod
    def _is_a_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if schema is None else checked_schema(schema)


AgentConfig.ours = frozenset(AgentConfig.model_fields.keys() - ProviderConfig.model_fields.keys())


class MemberConfig(AgentConfig):
    """An agent inside a node of another type; that node writes its prompts."""

    @field_validator("approve")
    @classmethod
    def _asks_nobody(cls, approve: list[str]) -> list[str]:
        if approve:
            raise ValueError(
                "an agent inside a node cannot wait for a person; make it a node of its own, or "
                "drop approve"
            )
        return approve

    @field_validator("recall", "compact")
    @classmethod
    def _is_told_by_its_node(cls, given: Any, info: ValidationInfo) -> None:
        if given is not None:
            raise ValueError(
                "an agent inside a node is shown what that node asks it, and recalls nothing; "
                f"drop {info.field_name}"
            )


class AgentState(msgspec.Struct, omit_defaults=True):
    """The private state of an agent with a summary or a question; else the state is a number."""

    calls: int = 0
    summary: Summary = Summary()
    asking: str = ""
    """The tool call that a person was asked about last."""


class AgentProcessor:
    """Asks the model and emits its answer; the node's state counts the calls so far."""

    def __init__(
        self, asker: Asker, compactor: Compactor | None = None, recalls_all: bool = False
    ) -> None:
        self._asker = asker
        self._compactor = compactor
        self._recalls_all = recalls_all

    async def process(self, ctx: Context) -> Emit | Suspend:
        before = _state_of(ctx.state)
        index = before.calls + ctx.offset + ctx.attempt - 1
        messages, summary = shown(ctx), before.summary
        if self._compactor is not None:
            role = self._asker.role
            messages, summary = await self._compactor.fitted(ctx, role, messages, summary)
        request = Request(
            node_id=ctx.node_id,
            messages=messages,
            idempotency_key=ctx.idempotency_key,
            text=ctx.text,
            data=ctx.data,
            index=index,
            round=ctx.round,
            address=ctx.address,
            stable=stable(ctx, messages, self._recalls_all),
        )
        try:
            heard = await self._asker.answer(ctx, request, ctx.node_id, before.asking)
        except ApprovalNeeded as needed:
            waiting = AgentState(before.calls, before.summary, needed.part)
            return Suspend(needed.question, msgspec.to_builtins(waiting))
        answer, calls = heard.answer, index + heard.calls
        state: Any = calls
        if self._compactor is not None:
            state = msgspec.to_builtins(AgentState(calls, summary))
        return Emit((Message(answer.content, answer.data),), state)


def _state_of(state: Any) -> AgentState:
    return msgspec.convert(state, AgentState) if isinstance(state, dict) else AgentState(state or 0)


def compactor_of(config: AgentConfig, registry: Registry) -> Compactor | None:
    """The compactor that keeps an agent's context short, if its config asks for one."""
    compact = config.compact
    if compact is None:
        return None
    writer = compact.agent or config
    asker = Asker(
        model=writer.built(registry),
        role=(compact.agent.role if compact.agent else "") or ROLE,
        name=writer.name,
        fallback=tuple((each.name, each.built(registry)) for each in writer.fallback),
    )
    return Compactor(asker, compact.over_tokens, compact.keep)


def asker_of(config: AgentConfig, registry: Registry) -> Asker:
    """The model that a config sets, ready to be asked."""
    uses_tools = config.tools and config.provider != SIMULATED
    return Asker(
        model=config.built(registry),
        role=config.role,
        input_mode=config.input_mode,
        schema=None if config.output_schema is None else AnswerSchema(config.output_schema),
        toolbox=Toolbox(config.tools, registry, config.approve) if uses_tools else None,
        max_tool_calls=config.max_tool_calls,
        max_tool_rounds=config.max_tool_rounds,
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
    others: Any = list[knowing(registry, ModelConfig)]  # type: ignore[misc]
    writer: Any = knowing(registry, SummaryAgentConfig, fallback=others)
    compact = with_types(CompactConfig, agent=writer | None)
    types = {"fallback": others, "tools": entries, "compact": compact | None}
    return knowing(registry, base, "AgentConfig", **types)


def register(registry: Registry) -> None:
    """Add `agent`."""
    registry.node(
        "agent",
        config_for(registry),
        lambda config, registry: AgentProcessor(
            asker_of(config, registry), compactor_of(config, registry), config.recalls_all
        ),
    )
