"""The value of a message, as a loop's contract measures its rounds."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from rondel.graph.json_in_text import objects_in

STRUCTURED: Final = "structured_score"
WEIGHTED: Final = ("weighted_score", "weighted_total")


def number(value: Any) -> float | None:
    """A finite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if isfinite(result) else None


def value_of(data: dict[str, Any], text: str, path: tuple[str, ...]) -> float | None:
    """What is at the path in the data, else in JSON inside the text; a missing value is None."""
    if path[0] in data or STRUCTURED in data:
        found = _found(data, path)
        if found is not None:
            return found
    if "{" not in text:
        return None
    if f'"{path[-1]}"' not in text and STRUCTURED not in text:
        return None
    blocks = objects_in(text)
    for block in blocks[::-1]:
        found = _found(block, path)
        if found is not None:
            return found
    return None


def _found(data: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value = number(_at(data, path))
    if value is not None:
        return value
    structured = data.get(STRUCTURED)
    if not isinstance(structured, dict):
        return None
    weighted = (number(structured.get(key)) for key in WEIGHTED)
    return next((value for value in weighted if value is not None), None)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
