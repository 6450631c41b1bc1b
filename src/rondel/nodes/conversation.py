"""A conversation with a model until one question is answered: with tools, and one repair."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from rondel.engine.protocols import Context
from rondel.errors import ModelError
from rondel.models.model import ModelAnswer, Request, ToolCall, Turn
from rondel.nodes.approval import refusal
from rondel.nodes.structured import AnswerSchema, Misfit
from rondel.nodes.tools import Execution, Offer, Toolbox, tool_result
from rondel.tools.context import ToolContext

NAME_CHARACTERS = 64
"""The most characters of a tool's name in the journal; a model may invent any name."""

Result = TypeVar("Result")

Ask = Callable[[Request], Awaitable[ModelAnswer]]


@dataclass(frozen=True, slots=True)
class CountedAnswer:
    """An answer, how many calls of the model it took, and how many of these said nothing."""

    answer: ModelAnswer
    calls: int = 1
    silences: int = 0


@dataclass(slots=True)
class Conversation:
    """Asks, runs the tools that the model calls, and asks again until an answer fits.

    With tools every turn and every call is a sub-step. Without, only an answer that has to be
    repaired is one: whatever is done when the step ends is in the step's own record.
    """

    ctx: Context
    request: Request
    agent: str
    ask: Ask
    toolbox: Toolbox | None = None
    schema: AnswerSchema | None = None
    max_tool_calls: int = 10
    max_tool_rounds: int | None = None
    """How many answers may call tools; the next answer is final."""
    asked: str = ""
    """The call that a person was asked about in an earlier run of the step."""
    silences: int = 0
    """The number of empty answers that were asked for again."""
    _turns: list[Turn] = field(default_factory=list)
    _offer: Offer | None = None

    async def answer(self) -> CountedAnswer:
        """The final answer."""
        called, repaired = 0, False
        while True:
            answer = await self._turn()
            if self.toolbox is not None and answer.calls and not self._is_last():
                called += len(answer.calls)
                if called > self.max_tool_calls and self.max_tool_rounds is None:
                    raise self._too_many()
                self._turns.append(await self._with_results(answer, self.toolbox))
                continue
            read = await self._read(answer)
            if not isinstance(read, Misfit):
                calls = self.calls + self.silences
                return CountedAnswer(replace(answer, data=read), calls, self.silences)
            if repaired:
                raise self._unfit(read)
            repaired = True
            self._turns.append(answer.turn(reply=read.correction))

    # Turns

    def _is_last(self) -> bool:
        return self.max_tool_rounds is not None and len(self._turns) >= self.max_tool_rounds

    @property
    def calls(self) -> int:
        """The number of model calls so far, including one that is under way or failed."""
        return len(self._turns) + 1

    async def _turn(self) -> ModelAnswer:
        number = self.calls

        async def asked() -> dict[str, Any]:
            answer = await self.ask(await self._next_request(number))
            if self.toolbox is None and not isinstance(await self._read(answer), Misfit):
                raise Unrecorded(answer)
            return _kept(answer)

        if self.toolbox is None and number > 1:
            return await self.ask(await self._next_request(number))
        try:
            return _answer_of(await self.ctx.substep(self._part(f"turn {number}"), asked))
        except Unrecorded as answered:
            own: ModelAnswer = answered.result
            return own

    async def _next_request(self, number: int) -> Request:
        request = self.request
        tools = [] if self.toolbox is None else (await self._opened(self.toolbox)).specs
        schema = request.schema if self.schema is None else self.schema.schema
        if number == 1:
            return replace(request, tools=tools, schema=schema)
        return replace(
            request,
            tools=tools,
            schema=schema,
            turns=tuple(self._turns),
            text=_told_last(self._turns[-1]),
            index=request.index + number - 1 + self.silences,
            idempotency_key=f"{request.idempotency_key}:turn {number}",
        )

    async def _read(self, answer: ModelAnswer) -> dict[str, Any] | Misfit:
        """The answer's data; with a schema, the structured answer is added."""
        if self.schema is None:
            return answer.data
        read = await self.schema.read_beside(answer)
        return read if isinstance(read, Misfit) else {**answer.data, **read}

    # Calls

    async def _with_results(self, answer: ModelAnswer, toolbox: Toolbox) -> Turn:
        refusals = [
            await self._refusal(call, place, toolbox) for place, call in enumerate(answer.calls, 1)
        ]
        executions = await all_done(
            self._called(call, place, toolbox, refusals[place - 1])
            for place, call in enumerate(answer.calls, 1)
        )
        results = [
            tool_result(call, execution)
            for call, execution in zip(answer.calls, executions, strict=True)
        ]
        return answer.turn(results)

    async def _refusal(self, call: ToolCall, place: int, toolbox: Toolbox) -> str | None:
        """Why a person refused the call, or None; all calls are decided before any is made."""
        if not toolbox.approve:
            return None
        await self._opened(toolbox)
        if call.name not in toolbox.approve:
            return None
        part = self._part(f"{self._place(place)} approval")
        return await refusal(self.ctx, call, part, self.asked)

    async def _called(
        self, call: ToolCall, place: int, toolbox: Toolbox, refused: str | None
    ) -> Execution:
        ctx, part = self.ctx, self._place(place)
        key = f"{self.request.idempotency_key}:{part}"
        where = ToolContext(key, ctx.session_id, ctx.node_id, ctx.address, ctx.round, ctx.inputs)

        async def run() -> Execution:
            if refused is not None:
                given: Any = call.malformed or call.arguments
                return {"tool": call.name, "input": given, "output": refused, "failed": True}
            return await (await self._opened(toolbox)).run(call, where)

        name = call.name[:NAME_CHARACTERS]
        execution: Execution = await ctx.substep(
            self._part(f"{part} {name}"), run, "tool_execution"
        )
        return execution

    def _place(self, place: int) -> str:
        return f"turn {self.calls} call {place}"

    async def _opened(self, toolbox: Toolbox) -> Offer:
        """The tools, found when they are first needed: a step that only reads its journal
        needs none."""
        if self._offer is None:
            self._offer = await toolbox.open()
        return self._offer

    # Names and failures

    def _part(self, name: str) -> str:
        return part_of(self.ctx, self.request, name)

    @property
    def _who(self) -> str:
        own = self.agent == self.ctx.node_id
        return "the model" if own else f"the agent {self.agent!r}"

    def _too_many(self) -> ModelError:
        return ModelError(
            f"{self._who} called more than {self.max_tool_calls} tools in one step; raise "
            "max_tool_calls, or say in its role when to stop",
            retryable=False,
        )

    def _unfit(self, misfit: Misfit) -> ModelError:
        return ModelError(
            f"{self._who} gave no answer that fits its JSON Schema, asked twice: "
            f"{'; '.join(misfit.errors)}; simplify the schema, or take another model"
        )


def part_of(ctx: Context, request: Request, name: str) -> str:
    """The unique name of a sub-step; the key tells apart several conversations of a step."""
    own = request.idempotency_key.removeprefix(ctx.idempotency_key).lstrip(":")
    return f"{own} {name}" if own else name


async def all_done(calls: Iterable[Awaitable[Result]]) -> list[Result]:
    """What the calls return. All run to their end even if one fails: what they did is journalled
    and paid for. An error that ends the step for good goes before one that may be tried again."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    errors = [each for each in done if isinstance(each, BaseException)]
    if errors:
        raise next((each for each in errors if not isinstance(each, Exception)), errors[0])
    return [each for each in done if not isinstance(each, BaseException)]


class Unrecorded(Exception):
    """Raised in a sub-step with a result that the step's own record will have."""

    def __init__(self, result: Any) -> None:
        self.result = result


def _told_last(turn: Turn) -> str:
    """What the model was told after its last answer: results of tools, or an error."""
    told = [result.content for result in turn.results] or [turn.reply]
    return "\n\n".join(told)


def _kept(answer: ModelAnswer) -> dict[str, Any]:
    """An answer as the journal keeps it; the sub-step's record holds its usage."""
    kept: dict[str, Any] = {"content": answer.content}
    if answer.data:
        kept["data"] = answer.data
    if answer.calls:
        kept["calls"] = msgspec.to_builtins(list(answer.calls))
    if answer.record is not None:
        kept["record"] = answer.record
    return kept


def _answer_of(kept: dict[str, Any]) -> ModelAnswer:
    return msgspec.convert(kept, ModelAnswer)
