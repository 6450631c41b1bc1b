"""The built-in node types: one a file, its config and its processor together."""

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
"""Each is in the file of its name, which is imported when a graph first uses it."""


def register_builtins(registry: Registry) -> None:
    """Add every built-in node type."""
    for name in TYPES:
        registry.later("node", f"{__name__}.{name}", name)
