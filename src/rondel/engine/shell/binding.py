"""A plan with its working parts: a callable per node, a condition and a process per edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from rondel.engine.core.step import Step
from rondel.engine.message import Message
from rondel.engine.protocols import (
    Condition,
    Context,
    Deferred,
    Emit,
    Immediate,
    Middleware,
    Outcome,
    Process,
    Processor,
    Router,
    Split,
    Until,
)
from rondel.engine.registry import Registry
from rondel.engine.shell.dynamic_fan_out import DynamicFanOut
from rondel.engine.shell.wrapping import describe, wrapped
from rondel.engine.ticks import Altered
from rondel.errors import StepFailed
from rondel.graph.plan import CONTRACT_LABELS, Plan, PlanEdge, PlanNode
from rondel.graph.spec import ALWAYS, Call, DynamicSpec

MET: Final = 100
"""How many characters of a message an error shows."""

UNALTERED: Final[Altered] = {}
"""Shared by all ticks whose messages go as they are; no tick is ever changed."""


class BoundEdge:
    """An edge with its condition and process; it is what a router chooses from."""

    __slots__ = ("carry", "condition", "contract", "index", "label", "process", "source", "target")

    def __init__(self, edge: PlanEdge, registry: Registry) -> None:
        spec = edge.spec
        self.index = edge.index
        self.label = spec.label
        self.source = spec.source
        self.target = spec.target
        self.carry = spec.carry_data
        self.contract = spec.label in CONTRACT_LABELS and spec.trigger
        self.condition: Condition | None = None
        if spec.condition.type != ALWAYS.type:
            self.condition = _made("condition", spec.condition, registry)
        self.process: Process | None = None
        if spec.process is not None and spec.carry_data:
            self.process = _made("process", spec.process, registry)


class BoundNode:
    """A node with its processor, wrapped in what the graph says about retries and timeouts."""

    __slots__ = (
        "_singles",
        "all_edges",
        "begin",
        "edges",
        "finish",
        "plain",
        "processor",
        "router",
        "source",
        "waits",
    )

    def __init__(
        self,
        node: PlanNode,
        edges: list[BoundEdge],
        registry: Registry,
        middleware: Sequence[Middleware],
        fans: dict[str, tuple[DynamicSpec, Split]],
    ) -> None:
        self.source = node.name
        self.edges = edges
        self.all_edges = tuple([edge.index for edge in edges])
        self._singles: dict[int, tuple[int, ...]] = {e.index: (e.index,) for e in edges}
        """Each edge alone, so that ticks share what most of them hold."""
        self.processor: Processor | None = None
        self.router: Router | None = None
        self.begin: Callable[[Context], Any] | None = None
        """Gives its outcome, or what is to be awaited for it."""
        self.finish: Callable[[Any, Context], Outcome] | None = None
        """What that is then, where it is not the outcome itself."""
        self.waits = True
        """Whether the node is expected to wait."""
        if node.inner is None:
            spec = node.spec
            self.processor = spec.processor
            if self.processor is None:
                self.processor = registry.build("node", spec.type, spec.config)
            self.router = self.processor if isinstance(self.processor, Router) else None
            self._wrap(self.processor, node, middleware, fans)
        elif fans:
            self.begin = DynamicFanOut(None, fans)
        self.plain = self.router is None and all(
            edge.condition is None and edge.process is None and not edge.contract for edge in edges
        )

    def _wrap(
        self,
        processor: Processor,
        node: PlanNode,
        middleware: Sequence[Middleware],
        fans: dict[str, tuple[DynamicSpec, Split]],
    ) -> None:
        call = wrapped(processor, node, middleware)
        self.begin = DynamicFanOut(call, fans) if fans else call
        if self.begin != processor.process:
            return
        if isinstance(processor, Immediate):
            self.begin, self.waits = processor.process_now, False
        elif isinstance(processor, Deferred):
            self.begin, self.finish = processor.begin, processor.finish

    def route(
        self, step: Step, output: Emit, messages: tuple[Message, ...]
    ) -> tuple[tuple[int, ...], Altered]:
        """The edges that fire for these messages, and what they made of those they changed."""
        if not messages:
            return (), UNALTERED
        if self.plain:
            return self.all_edges, UNALTERED
        fired: list[int] = []
        altered = UNALTERED
        edges = self.edges
        if self.router is not None:
            edges = list(self.router.route(output, edges))  # type: ignore[arg-type]
        only = messages[0] if len(messages) == 1 else None
        for edge in edges:
            if edge.contract and _leaves_a_loop(step, edge):
                continue
            if only is None or edge.process is not None:
                altered = altered or {}
                _evaluate(edge, messages, step.round, fired, altered)
            elif edge.condition is None or _holds(edge, only, step.round):
                fired.append(edge.index)
        if len(fired) == 1:
            return self._singles[fired[0]], altered or UNALTERED
        return tuple(fired), altered or UNALTERED


class Binding:
    """All nodes and edges of a plan, bound to what a registry knows."""

    def __init__(
        self, plan: Plan, registry: Registry, middleware: Sequence[Middleware] = ()
    ) -> None:
        self.plan = plan
        self.edges = [BoundEdge(edge, registry) for edge in plan.edges]
        self.nodes = [
            BoundNode(
                node,
                [self.edges[index] for index in node.out],
                registry,
                middleware,
                _fans(plan, node, registry),
            )
            for node in plan.nodes
        ]
        self._registry = registry
        self._untils: dict[int, Until] = {}

    def until(self, call: Call) -> Until:
        """The `until` of a contract, built once."""
        if id(call) not in self._untils:
            self._untils[id(call)] = _made("contract", call, self._registry)
        return self._untils[id(call)]


def _fans(plan: Plan, node: PlanNode, registry: Registry) -> dict[str, tuple[DynamicSpec, Split]]:
    """The dynamic edges into a node, by the node they come from."""
    found = {}
    for index in node.into:
        spec = plan.edges[index].spec
        if spec.dynamic is not None:
            found[spec.source] = spec.dynamic, _made("split", spec.dynamic.split, registry)
    return found


def _made(kind: str, call: Call, registry: Registry) -> Any:
    if call.ready is not None:
        return call.ready
    return registry.build(kind, call.type, call.config)


def _evaluate(
    edge: BoundEdge,
    messages: Sequence[Message],
    round: int,
    fired: list[int],
    altered: Altered,
) -> None:
    passed = messages
    if edge.condition is not None:
        passed = [message for message in messages if _holds(edge, message, round)]
    if not passed:
        return
    if edge.process is None:
        fired.append(edge.index)
        if len(passed) != len(messages):
            altered[edge.index] = list(passed)
        return
    made = [processed(edge, message) for message in passed]
    altered[edge.index] = made
    if any(message is not None for message in made):
        fired.append(edge.index)


def _holds(edge: BoundEdge, message: Message, round: int) -> bool:
    assert edge.condition is not None  # noqa: S101
    try:
        return edge.condition(message, round)
    except Exception as error:
        raise _blamed(edge, "condition", message, error) from error


def processed(edge: BoundEdge, message: Message) -> Message | None:
    """What the edge's process makes of a message; it still comes from where it came from."""
    assert edge.process is not None  # noqa: S101
    try:
        made = edge.process(message)
    except Exception as error:
        raise _blamed(edge, "process", message, error) from error
    if made is None or made.source == message.source:
        return made
    return msgspec.structs.replace(made, source=message.source)


def _blamed(edge: BoundEdge, part: str, message: Message, error: Exception) -> StepFailed:
    """The error of a condition or a process, with the edge that has it and what it met."""
    met = message.readable
    if message.data and message.text:
        met += f" {msgspec.json.encode(message.data).decode()}"
    why = describe(error)
    if isinstance(error, KeyError):
        why = f"{why}; the data of this message has {', '.join(message.data) or 'no keys'}"
    return StepFailed(
        f"the {part} of the edge {edge.source} -> {edge.target} failed on {_short(met)!r}: {why}"
    )


def _short(text: str) -> str:
    return text if len(text) <= MET else f"{text[:MET]}…"


def _leaves_a_loop(step: Step, edge: BoundEdge) -> bool:
    return step.frame.scope.scoped_edges[step.item][edge.index].hops > 0
