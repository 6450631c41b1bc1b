"""Places in a document, such as `graph.nodes[2].config.max_iterations`."""

from __future__ import annotations

from typing import Any

Path = tuple[str | int, ...]

SPECIAL = frozenset(".[]\"'")


def path_text(path: Path) -> str:
    """The path as people read it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif SPECIAL.isdisjoint(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def has(value: Any, step: str | int) -> bool:
    """Whether a container holds that key or index."""
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)


def value_at(value: Any, path: Path) -> Any:
    """What stands at a path, or None if nothing does."""
    for step in path:
        if not has(value, step):
            return None
        value = value[step]
    return value
