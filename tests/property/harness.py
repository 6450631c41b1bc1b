"""Running generated graphs on the real engine, with any timing."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from rondel import (
    Context,
    Emit,
    Engine,
    Event,
    Graph,
    Message,
    Nothing,
    Outcome,
    Registry,
    Result,
    Session,
)
from rondel.engine.protocols import Handler, Usage
from rondel.graph.guarantees import Recall
from rondel.sessions.records import QuestionRecord, StepRecord
from rondel.sessions.registry import builtin_registry


class ScriptConfig(BaseModel):
    """What a script node emits at its k-th execution; the last entry is repeated."""

    outputs: list[list[str | dict[str, Any]]]

    def recalls(self) -> Recall:
        """So many of its outputs that all cases are met; the reference knows the same rule."""
        return Recall(task=True, own=(-1, 1, 2)[len(self.outputs) % 3])


class ScriptProcessor:
    """Recites, and takes its time where a jitter is set."""

    def __init__(self, config: ScriptConfig) -> None:
        self._outputs = config.outputs

    async def process(self, ctx: Context) -> Outcome:
        count = (ctx.state or 0) + 1
        lines = self._outputs[:count][-1]
        tokens = sum(line.get("tokens", 0) for line in lines if isinstance(line, dict))
        if tokens:
            ctx.charge(Usage("script", tokens, 0))
        if not lines:
            return Nothing(state=count)
        return Emit([_message(line) for line in lines], state=count)


def _message(line: str | dict[str, Any]) -> Message:
    if isinstance(line, str):
        return Message(line)
    return Message(line.get("content", ""), line.get("data") or {})


def registry() -> Registry:
    """The built-in names and the script node."""
    known = builtin_registry()
    known.node("script", ScriptConfig, lambda config, _registry: ScriptProcessor(config))
    return known


class Jitter:
    """Middleware that lets every step take a random number of turns of the event loop."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def around(self, ctx: Context, call: Handler) -> Any:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        outcome = await call(ctx)
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        return outcome


KNOWN = registry()
Played = tuple[Result, list[StepRecord], list[Event]]


async def play(
    document: dict[str, Any],
    task: str,
    answers: list[str],
    jitter: int | None = None,
    decisions: Mapping[str, Sequence[str]] | None = None,
) -> Played:
    """The result, the steps and the durable events of a run.

    People answer in the order in which they are asked; `decisions` are the answers to the
    questions of loops, by the head's name.
    """
    middleware = [] if jitter is None else [Jitter(jitter)]
    left = list(answers)
    loops = {head: list(given) for head, given in (decisions or {}).items()}
    async with Engine(db=None, registry=KNOWN, middleware=middleware) as engine:
        graph = Graph.from_document(document, registry=KNOWN)
        session = await engine.start(graph, task)
        result = await session.settled()
        while result.status == "waiting" and await _answer_one(session, left, loops):
            result = await session.settled()
        if result.status == "waiting":
            return result, session.steps(), []
        return result, session.steps(), [event async for event in session.events()]


async def _answer_one(session: Session, answers: list[str], loops: dict[str, list[str]]) -> bool:
    """Answer the oldest question that there is an answer to."""
    for question in session.asking:
        given = loops.get(question.node_id, []) if _is_of_a_loop(question) else answers
        if given:
            await session.answer(given.pop(0), node=question.node_id)
            return True
    return False


def _is_of_a_loop(question: QuestionRecord) -> bool:
    """A loop asks with its round for an address: `Writer[3]`, not `Writer[3]/Editor`."""
    return question.address.endswith("]")


async def journal_of(
    document: dict[str, Any], task: str, answers: list[str], jitter: int | None = None
) -> tuple[Graph, list[Any]]:
    """The graph and the ticks of a run, as far as its answers carry it."""
    middleware = [] if jitter is None else [Jitter(jitter)]
    left = list(answers)
    async with Engine(db=None, registry=KNOWN, middleware=middleware) as engine:
        graph = Graph.from_document(document, registry=KNOWN)
        session = await engine.start(graph, task)
        while (await session.settled()).status == "waiting" and left:
            await session.answer(left.pop(0))
        return graph, list(session.journal())


def recollections(steps: list[StepRecord]) -> dict[str, list[list[tuple[str, str]]]]:
    """Per node, what its executions were shown besides what they saw."""
    found: dict[str, list[list[tuple[str, str]]]] = defaultdict(list)
    for step in steps:
        found[step.node_id].append([(each["source"], each["content"]) for each in step.recalled])
    return dict(found)


def executions(steps: list[StepRecord]) -> dict[str, list[tuple[list[Any], list[str]]]]:
    """Per node, what its executions saw and produced, in order."""
    found: dict[str, list[tuple[list[Any], list[str]]]] = defaultdict(list)
    for step in steps:
        inputs = [(message["source"], message["content"]) for message in step.inputs]
        outputs = [message["content"] for message in step.outputs]
        found[step.node_id].append((inputs, outputs))
    return dict(found)
