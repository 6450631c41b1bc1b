"""When an edge fires, and what it makes of its message: one condition or process a file."""

from __future__ import annotations

from rondel.conditions import (
    constant,
    expr,
    function,
    function_process,
    keyword,
    regex_extract,
    splits,
    until,
)
from rondel.engine.registry import Registry


def register(registry: Registry) -> None:
    """Add every built-in condition and edge process."""
    constant.register(registry)
    keyword.register(registry)
    expr.register(registry)
    function.register(registry)
    regex_extract.register(registry)
    function_process.register(registry)
    until.register(registry)
    splits.register(registry)
