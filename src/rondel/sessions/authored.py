"""The Python functions of a graph, which no document can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from pydantic import ValidationError

from rondel.conditions.calling import FunctionCondition, name_of
from rondel.conditions.function import FunctionProcess
from rondel.engine.protocols import Processor
from rondel.engine.registry import Registry
from rondel.errors import GraphError, Problem
from rondel.graph.spec import Call, EdgeSpec, GraphSpec, NodeSpec
from rondel.sessions.registry import FUNCTION

Working = FunctionCondition | FunctionProcess


class Functions:
    """The functions of one graph, by the names that its document has for them."""

    def __init__(self) -> None:
        self.processors: dict[str, Processor] = {}
        """The processor of each node that has one."""
        self.on_edges: dict[str, Working] = {}
        self.code: dict[str, Any] = {}
        """The author's code, by the part of the graph that calls it."""

    def __bool__(self) -> bool:
        return bool(self.processors or self.on_edges)

    def id_of(self, node: str | Callable[..., Any]) -> str:
        """The id of a node that may be named by its function."""
        if isinstance(node, str):
            return node
        names = (place for place, code in self.code.items() if code is node)
        made = [name.removeprefix("node ") for name in names if name.startswith("node ")]
        return made[0] if made else name_of(node)

    def condition(self, name: str, function: Callable[..., Any]) -> dict[str, Any]:
        """Keep a condition, and return its entry in the document."""
        return self._keep(name, FunctionCondition(function))

    def process(self, name: str, function: Callable[..., Any]) -> dict[str, Any]:
        """Keep an edge's process, and return its entry in the document."""
        return self._keep(name, FunctionProcess(function))

    def _keep(self, name: str, working: Working) -> dict[str, Any]:
        self.on_edges[name] = working
        return {"type": FUNCTION, "config": {"name": name}}

    def completed(self, spec: GraphSpec, registry: Registry) -> GraphSpec:
        """The graph with these functions, and with the registered functions that it names."""
        nodes = tuple(self._node(node, registry) for node in spec.nodes)
        edges = tuple(self._edge(edge, registry) for edge in spec.edges)
        return replace(spec, nodes=nodes, edges=edges)

    def _node(self, node: NodeSpec, registry: Registry) -> NodeSpec:
        if node.inner is not None:
            return replace(node, inner=Functions().completed(node.inner, registry))
        processor = self.processors.get(node.id)
        if processor is not None:
            return replace(node, processor=processor)
        if node.type == FUNCTION and isinstance(node.config, dict):
            return replace(node, config=_registered(registry, "node", node.config))
        return node

    def _edge(self, edge: EdgeSpec, registry: Registry) -> EdgeSpec:
        condition, process = edge.condition, edge.process
        if condition.type == FUNCTION:
            edge = replace(edge, condition=self._call(registry, "condition", condition))
        if process is not None and process.type == FUNCTION:
            edge = replace(edge, process=self._call(registry, "process", process))
        return edge

    def _call(self, registry: Registry, kind: str, call: Call) -> Call:
        if not isinstance(call.config, dict):
            return call
        working = self.on_edges.get(call.config.get("name", ""))
        if working is not None:
            return replace(call, ready=working)
        return replace(call, config=_registered(registry, kind, call.config))


def _registered(registry: Registry, kind: str, config: dict[str, Any]) -> Any:
    """The config of a function that the registry knows, in a graph that also has its own."""
    try:
        return registry.config_model(kind, FUNCTION).model_validate(config)
    except ValidationError as error:
        raise GraphError([Problem(str(error.errors()[0]["msg"]))]) from error
