"""The score of a message: in its data, in JSON inside its text, or in plain words."""

from __future__ import annotations

import re
from functools import lru_cache
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
    said = _at(data, path)
    value = number(said)
    if value is not None:
        return value
    for verdict in (said, data.get(STRUCTURED)):
        if isinstance(verdict, dict):
            for key in WEIGHTED:
                value = number(verdict.get(key))
                if value is not None:
                    return value
    return None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


CHINESE: Final = r"|(?:(?:总体|整体|综合|最终|本次|本轮|总)(?:的)?)?(?:评分|得分|分数|打分)|总分"
"""What a score is called in Chinese."""


def spoken_value(text: str, path: tuple[str, ...]) -> float | None:
    """The number after the last key of the path, where that begins a clause; of several, the last.

    It is taken as it is written: `8/10` is 8.
    """
    found: str | None = None
    for match in _pattern(path[-1]).finditer(text):
        found = match["number"]
    return None if found is None else number(found)


@lru_cache(maxsize=64)
def _pattern(key: str) -> re.Pattern[str]:
    name = re.escape(key).replace("_", "[_ ]")
    other = CHINESE if key == "score" else ""
    return re.compile(
        rf"""(?:^|[\n.!?;,(，。！？；、（])[ \t>\#*_|•\-]*  # the beginning of a clause
        (?:(?:(?:my|the|overall|final|total|weighted)[ ]){{0,2}}{name}{other})
        [ \t*_]*(?:[:：=|]|[ ]is[ ])[ \t*_]*  # a colon, inside the bold or after it
        (?P<number>[-+]?\d+(?:\.\d+)?)
        (?!\.?\d)(?![ ]*[-–—~～至到][ ]*\d)  # not a part of a number, no range
        """,
        re.VERBOSE | re.IGNORECASE,
    )
