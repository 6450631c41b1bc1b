"""The provider `scripted`: prepared answers, for examples and tests."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec.structs import replace
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rondel.engine.message import Message
from rondel.engine.protocols import Condition, Usage
from rondel.engine.registry import Registry
from rondel.errors import ModelError
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.quantities import Wait
from rondel.models.model import ModelAnswer, ProviderConfig, Request, ToolCall
from rondel.models.prices import usd


def _entry(value: Any) -> Any:
    return {"content": value} if isinstance(value, str) else value


Count = Annotated[int, Field(strict=True, ge=0)]


class ScriptedUsage(BaseModel):
    """The tokens an answer claims to have taken."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    input_tokens: Count = 0
    output_tokens: Count = 0


class ScriptedCall(BaseModel):
    """A tool that an answer calls."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str = Field(min_length=1)
    arguments: dict[str, Any] = {}


class ScriptedAnswer(BaseModel):
    """One answer: text, tool calls, delay, chunks, or an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    content: str = ""
    data: dict[str, Any] = {}
    calls: list[ScriptedCall] = []
    usage: ScriptedUsage | None = None
    delay: Wait = 0.0
    chunks: Annotated[int, Field(strict=True, ge=1)] | list[str] = 1
    error: str | None = Field(default=None, min_length=1)
    finish_reason: str = Field(
        "", description="Why the model stopped, such as length or content_filter."
    )

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if isinstance(self.chunks, list) and self.content not in ("", "".join(self.chunks)):
            raise ValueError("the chunks do not add up to the content; give only one of them")
        return self

    def at_once(self) -> Self:
        """The same answer without its delay."""
        return self.model_copy(update={"delay": 0.0})

    @property
    def is_empty(self) -> bool:
        """Whether the answer is empty, so that the model is asked again."""
        said = "".join(self.pieces).strip() or self.data or self.calls
        return not (said or self.error or self.finish_reason)

    @property
    def pieces(self) -> list[str]:
        """The content as it is streamed."""
        if isinstance(self.chunks, list):
            return self.chunks
        size = -(-len(self.content) // self.chunks) or 1
        return [self.content[at : at + size] for at in range(0, len(self.content), size)]


ScriptEntry = Annotated[
    ScriptedAnswer, BeforeValidator(_entry, json_schema_input_type=str | ScriptedAnswer)
]


class Rule(BaseModel):
    """An answer and the expression, over round, node, input and data, that asks for it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    when: str
    answer: ScriptEntry

    @field_validator("when")
    @classmethod
    def _compiles(cls, when: str, info: ValidationInfo) -> str:
        if info.context and (registry := info.context.get("registry")):
            try:
                _condition(registry, when)
            except ValidationError as error:
                raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        return when


class ScriptedConfig(ProviderConfig):
    """Answers in order, the last one repeated; or rules, the first that holds."""

    answers: list[ScriptEntry] = []
    rules: list[Rule] = []

    @property
    def script(self) -> list[ScriptedAnswer]:
        """All answers it can give."""
        return self.answers or [rule.answer for rule in self.rules]

    def guarantee(self) -> Guarantee:
        """One call, or two if an answer may be empty, with one of the answers."""
        calls = 2 if any(answer.is_empty for answer in self.script) else 1
        taken = [self.usage_of(answer) for answer in self.script]
        return Guarantee(
            routes=False,
            emits=True,
            keys=frozenset(key for answer in self.script for key in answer.data),
            passes=False,
            free_text=False,
            says=tuple((answer.data, "".join(answer.pieces)) for answer in self.script),
            calls=Calls(calls, max(u.tokens for u in taken), max(u.usd for u in taken)),
        )

    def at_once(self) -> Self:
        """The same script without its delays."""
        answers = [answer.at_once() for answer in self.answers]
        rules = [rule.model_copy(update={"answer": rule.answer.at_once()}) for rule in self.rules]
        return self.model_copy(update={"answers": answers, "rules": rules})

    def usage_of(self, answer: ScriptedAnswer) -> Usage:
        """The usage of an answer."""
        model = self.name or "scripted"
        if answer.usage is None:
            return Usage(model)
        taken = answer.usage.input_tokens, answer.usage.output_tokens
        return Usage(model, *taken, usd(self.name, *taken, price=self.price))

    @model_validator(mode="after")
    def _has_one_script(self) -> Self:
        if bool(self.answers) == bool(self.rules):
            raise ValueError("a scripted model needs either answers or rules, and at least one")
        return self


class ScriptedModel:
    """Gives the answers of its script."""

    def __init__(self, config: ScriptedConfig, rules: Sequence[tuple[Condition, ScriptedAnswer]]):
        self._usage = config.usage_of
        self._answers = config.answers
        self._rules = rules

    async def answer(self, request: Request) -> ModelAnswer:
        scripted = self._chosen(request)
        await self._stream(scripted, request)
        if scripted.error:
            if scripted.usage is not None:
                request.charge(replace(self._usage(scripted), finish_reason="error"))
            raise ModelError(scripted.error)
        content = "".join(scripted.pieces)
        calls = tuple(
            ToolCall(f"call_{request.index}_{place}", call.name, dict(call.arguments))
            for place, call in enumerate(scripted.calls)
        )
        reason = scripted.finish_reason
        answer = ModelAnswer(content, dict(scripted.data), calls=calls, finish_reason=reason)
        taken = replace(self._usage(scripted), finish_reason=reason)
        return dataclasses.replace(answer, usage=taken)

    def most(self, request: Request) -> Usage:
        """The usage of the answer that will be given."""
        try:
            return self._usage(self._chosen(request))
        except ModelError:
            return Usage()

    def _chosen(self, request: Request) -> ScriptedAnswer:
        if self._answers:
            return self._answers[min(request.index, len(self._answers) - 1)]
        question = Message(request.text, request.data, "user", request.node_id)
        for holds, answer in self._rules:
            if holds(question, request.round):
                return answer
        raise ModelError(
            f"no rule of the scripted node {request.node_id!r} holds in round {request.round}; "
            'add one with when: "true"',
            retryable=False,
        )

    async def _stream(self, scripted: ScriptedAnswer, request: Request) -> None:
        """Hand out the pieces, the delay spread evenly before them."""
        pieces = scripted.pieces or [""]
        for piece in pieces:
            if scripted.delay:
                await asyncio.sleep(scripted.delay / len(pieces))
            if piece:
                request.emit(piece)


def _condition(registry: Registry, when: str) -> Condition:
    config = registry.config_model("condition", "expr")(expr=when)
    condition: Condition = registry.build("condition", "expr", config)
    return condition


def scripted(config: ScriptedConfig, registry: Registry) -> ScriptedModel:
    """The model that says this script."""
    rules = [(_condition(registry, rule.when), rule.answer) for rule in config.rules]
    return ScriptedModel(config, rules)


def register(registry: Registry) -> None:
    """Add `scripted`."""
    registry.provider("scripted", ScriptedConfig, scripted)
