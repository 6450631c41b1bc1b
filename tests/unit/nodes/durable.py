"""A context whose sub-steps are journalled, and graphs of one node run to their end."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import rondel
from rondel import Graph
from rondel.engine.message import Message
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from tests.unit.nodes.context import FakeContext
from tests.unit.nodes.running import registry_with


@dataclass
class DurableContext(FakeContext):
    """A context that does no sub-step twice; `parts` is its journal, in order."""

    parts: dict[str, Any] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)

    async def substep(self, name: str, call: Callable[[], Awaitable[Any]], event: str = "") -> Any:
        if name not in self.parts:
            value = json.loads(json.dumps(await call()))
            self.parts[name] = value
            if event:
                self.events.append((event, value))
        return self.parts[name]


def durable(text: str, **values: Any) -> DurableContext:
    """A durable context with one new message."""
    return DurableContext([Message(text, source="from")], node_id="Node", **values)


@dataclass
class Echo:
    """A model that keeps what it was asked, and answers with its count."""

    requests: list[Request] = field(default_factory=list)

    async def answer(self, request: Request) -> ModelAnswer:
        self.requests.append(request)
        return ModelAnswer(f"{request.node_id} says {request.index}")


def with_echo(type: str, config: dict[str, Any]) -> tuple[Any, Echo]:
    """A node's processor whose agents may have the provider `echo`, and that model."""
    echo = Echo()
    registry = registry_with()
    registry.provider("echo", ProviderConfig, lambda _config, _registry: echo)
    # Node types declare the providers' options when they are registered; that is for editors.
    model = registry.config_model("node", type)
    return registry.build("node", type, model.model_validate(config)), echo


def scripted(*answers: Any, **more: Any) -> dict[str, Any]:
    """The config of a scripted agent."""
    return {"provider": "scripted", "answers": list(answers), **more}


def run_node(type: str, config: dict[str, Any], text: str = "a task", **node: Any) -> Any:
    """The result of a graph of that one node."""
    nodes = [{"id": "Node", "type": type, "config": config, **node}]
    graph = Graph.loads(json.dumps({"graph": {"id": "one", "nodes": nodes}}))
    return rondel.run(graph, text, allow_commands=True)
