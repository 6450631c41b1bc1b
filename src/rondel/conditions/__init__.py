"""Conditions (when an edge fires), edge processes (what it changes) and splits of messages."""

from __future__ import annotations

from rondel.engine.registry import Registry


def register(registry: Registry) -> None:
    """Add every built-in condition and edge process; each file is imported when it is used."""
    registry.later("condition", f"{__name__}.expr", "true", "false")
    registry.later("condition", f"{__name__}.keyword", "keyword")
    registry.later("condition", f"{__name__}.expr", "expr")
    registry.later("condition", f"{__name__}.function", "function")
    registry.later("process", f"{__name__}.regex_extract", "regex_extract")
    registry.later("process", f"{__name__}.template", "template")
    registry.later("process", f"{__name__}.function", "function")
    registry.later("contract", f"{__name__}.expr", "until")
    registry.later("split", f"{__name__}.splits", "message", "regex", "json_path")
