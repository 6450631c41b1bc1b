"""The node type `fact_check`: an agent checks the claims of a text; the result picks the edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Exit
from rondel.engine.registry import Registry
from rondel.errors import ModelError, StepFailed
from rondel.graph.guarantees import Guarantee
from rondel.models.choice import with_types
from rondel.models.model import Request
from rondel.nodes import agent
from rondel.nodes.agent import AgentConfig
from rondel.nodes.agent_guarantee import guarantee_of_agent, total_calls
from rondel.nodes.asking import Asker, with_attachments
from rondel.nodes.conversation import Conversation
from rondel.nodes.fact_check_prompts import Claim, FactCheckPrompts
from rondel.nodes.panel import topic_of
from rondel.nodes.structured import AnswerSchema
from rondel.nodes.tools import ToolEntry, entry_type
from rondel.nodes.vote import ways

CLAIMS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string"},
                    "verified": {"type": "boolean"},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "sources": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["claim", "verified", "confidence", "sources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


class FactCheckConfig(BaseModel):
    """Who checks, with which tools, and how sure a claim must be to count as verified.

    It is used through `config_for(registry)`, which knows the providers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    agent: AgentConfig = Field(description="The checker: the config of an agent.")
    tools: list[ToolEntry] = Field([], description="What it may use besides its own tools.")
    verify_threshold: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.7

    @property
    def checker(self) -> AgentConfig:
        """The agent with all its tools."""
        if not self.tools:
            return self.agent
        return self.agent.model_copy(update={"tools": [*self.agent.tools, *self.tools]})

    @property
    def commands(self) -> list[str]:
        """The programs that the checker's tools start."""
        return self.checker.commands

    def guarantee(self) -> Guarantee:
        """One check, repaired once at most; the result picks the edges."""
        checker = self.checker
        limit = checker.max_tool_calls if checker.tools else 0
        calls = total_calls([(guarantee_of_agent(checker.options, CLAIMS_SCHEMA, limit), 1)])
        keys = frozenset({"claims", "verified", "confidence", "summary", "error"})
        return Guarantee(emits=True, keys=keys, passes=False, authored=False, calls=calls)

    @model_validator(mode="after")
    def _has_one_schema(self) -> Self:
        if self.agent.output_schema is not None:
            raise ValueError(
                "a fact_check sets the schema of its agent's answers itself; drop output_schema"
            )
        return self


class FactCheckProcessor:
    """Asks for the claims, counts those that hold, and picks the edges.

    A check that fails says so and is not verified. The node's state is the number of calls so far.
    """

    def __init__(self, config: FactCheckConfig, asker: Asker) -> None:
        self._threshold = config.verify_threshold
        self._asker = replace(asker, schema=AnswerSchema(CLAIMS_SCHEMA))

    async def process(self, ctx: Context) -> Emit:
        prompts = FactCheckPrompts.on(topic_of(ctx))
        request = self._request(ctx, prompts.check())
        checking = self._asker.conversation(ctx, request, ctx.node_id)
        try:
            found = (await checking.answer()).answer.data["claims"]
        except (ModelError, StepFailed) as error:
            return await self._failed(ctx, prompts, checking, str(error))
        claims = [self._judged(claim) for claim in found]
        verified = bool(claims) and all(claim["verified"] for claim in claims)
        summary = prompts.summary(claims, self._threshold, verified=verified)
        data = self._data(claims, summary, verified=verified)
        return self._emit(data, request.index + checking.calls)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        onward, back = ways(edges)
        return onward if output.messages[-1].data["verified"] else back

    def _request(self, ctx: Context, prompt: str) -> Request:
        asked = Message(prompt, role="user", source=ctx.node_id)
        return Request(
            node_id=ctx.node_id,
            messages=[with_attachments(asked, ctx.messages)],
            idempotency_key=ctx.idempotency_key,
            text=prompt,
            data=ctx.data,
            index=(ctx.state or 0) + ctx.offset + ctx.attempt - 1,
            round=ctx.round,
            address=ctx.address,
        )

    def _judged(self, claim: Claim) -> Claim:
        """A claim; it is not verified if the checker's confidence is too low."""
        sure = claim["confidence"] >= self._threshold
        return {**claim, "verified": bool(claim["verified"]) and sure}

    def _data(self, claims: list[Claim], summary: str, *, verified: bool) -> dict[str, Any]:
        confidence = min((claim["confidence"] for claim in claims), default=0.0)
        return {
            "claims": claims,
            "verified": verified,
            "confidence": confidence,
            "summary": summary,
        }

    async def _failed(
        self, ctx: Context, prompts: FactCheckPrompts, checking: Conversation, error: str
    ) -> Emit:
        async def told() -> dict[str, str]:
            return {"error": error, "kind": "fact_check_failed"}

        await ctx.substep("check failed", told, "error")
        data = self._data([], prompts.failure(error), verified=False)
        return self._emit({**data, "error": error}, checking.request.index + checking.calls)

    def _emit(self, data: dict[str, Any], calls: int) -> Emit:
        report = {"verified": data["verified"], "confidence": data["confidence"]}
        return Emit((Message(data["summary"], data),), calls, report=report)


def _build(config: FactCheckConfig, registry: Registry) -> FactCheckProcessor:
    return FactCheckProcessor(config, agent.asker_of(config.checker, registry))


def config_for(registry: Registry) -> type[FactCheckConfig]:
    """The check's config with an agent as `registry` knows it."""
    entries: Any = list[entry_type(registry)]  # type: ignore[misc]
    member = agent.config_for(registry, agent.MemberConfig)
    return with_types(FactCheckConfig, agent=member, tools=entries)


def register(registry: Registry) -> None:
    """Add `fact_check`."""
    registry.node("fact_check", config_for(registry), _build)
