"""The built-in node types, one a file: a config and its processor."""

from __future__ import annotations

from rondel.engine.registry import Registry

TYPES = (
    "agent",
    "debate",
    "fact_check",
    "function",
    "human",
    "literal",
    "loop",
    "loop_counter",
    "loop_timer",
    "memory",
    "passthrough",
    "python",
    "subgraph",
    "template",
    "vote",
)
"""The name of each type is also its file, which is imported when a graph first uses it."""


def register_builtins(registry: Registry) -> None:
    """Add every built-in node type."""
    for name in TYPES:
        registry.later("node", f"{__name__}.{name}", name)
