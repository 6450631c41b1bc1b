"""The built-in node types: one a file, its config and its processor together."""

from __future__ import annotations

from rondel.engine.registry import Registry
from rondel.nodes import (
    agent,
    debate,
    fact_check,
    function,
    human,
    literal,
    loop,
    loop_counter,
    loop_timer,
    memory,
    passthrough,
    python,
    subgraph,
    vote,
)


def register_builtins(registry: Registry) -> None:
    """Add every built-in node type."""
    agent.register(registry)
    debate.register(registry)
    fact_check.register(registry)
    function.register(registry)
    human.register(registry)
    literal.register(registry)
    loop.register(registry)
    loop_counter.register(registry)
    loop_timer.register(registry)
    memory.register(registry)
    passthrough.register(registry)
    python.register(registry)
    subgraph.register(registry)
    vote.register(registry)
