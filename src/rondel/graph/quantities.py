"""Lengths of time (seconds, or `500ms`, `90s`, `10m`, `2h`), and sizes (bytes, or `256MB`)."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
PATTERN = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)?$"
FORMS = "write seconds, or '500ms', '90s', '10m', '2h'"


def seconds(value: object) -> float:
    """The length in seconds; ValueError if it is no duration."""
    if isinstance(value, str):
        found = re.fullmatch(PATTERN, value.strip(), re.ASCII)
        if not found:
            raise ValueError("must be a duration")
        unit = found[2] or ""
        length = float(value.strip().removesuffix(unit)) * UNITS[unit]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        length = float(value)
    else:
        raise ValueError("must be a duration")
    if not 0 <= length < math.inf:
        raise ValueError("must be a duration of 0 or more")
    return length


def _wait(value: Any) -> float:
    try:
        return seconds(value)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError(
            "duration", "{what}", {"what": str(error), "hint": FORMS}
        ) from None


def _duration(value: Any) -> float:
    length = _wait(value)
    if length == 0:
        raise PydanticCustomError("duration", "must be longer than 0", {"hint": FORMS})
    return length


def _json_schema(number: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": PATTERN}]})


Duration = Annotated[
    float, BeforeValidator(_duration), _json_schema({"type": "number", "exclusiveMinimum": 0})
]
"""A field that takes a duration longer than nothing."""

Wait = Annotated[float, BeforeValidator(_wait), _json_schema({"type": "number", "minimum": 0})]
"""A field that takes a duration, where no time at all makes sense too."""

SIZE_UNITS = {"": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
SIZE_PATTERN = r"^[0-9]+(B|kB|KB|MB|GB)?$"
SIZE_FORMS = "write bytes, or '100kB', '256MB', '2GB'"


def size_text(size: int) -> str:
    """A size as a person reads it: `256 MB`."""
    for unit in ("GB", "MB", "kB"):
        if size >= SIZE_UNITS[unit]:
            return f"{round(size / SIZE_UNITS[unit], 1):g} {unit}"
    return f"{size} B"


def _bytes(value: Any) -> int:
    size = 0
    if isinstance(value, str) and (found := re.fullmatch(SIZE_PATTERN, value.strip(), re.ASCII)):
        unit = found[1] or ""
        size = int(value.strip().removesuffix(unit)) * SIZE_UNITS[unit]
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    if size < 1:
        raise PydanticCustomError("size", "must be a size of 1 byte or more", {"hint": SIZE_FORMS})
    return size


Size = Annotated[
    int,
    BeforeValidator(_bytes),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": SIZE_PATTERN}]}
    ),
]
"""A field that takes a size."""
