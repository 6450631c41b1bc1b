"""Amounts of memory and storage: bytes, or `100kB`, `256MB`, `2GB`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

UNITS = {"": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
PATTERN = r"^[0-9]+(B|kB|KB|MB|GB)?$"
FORMS = "write bytes, or '100kB', '256MB', '2GB'"


def size_text(size: int) -> str:
    """A size as a person reads it: `256 MB`."""
    for unit in ("GB", "MB", "kB"):
        if size >= UNITS[unit]:
            return f"{round(size / UNITS[unit], 1):g} {unit}"
    return f"{size} B"


def _bytes(value: Any) -> int:
    size = 0
    if isinstance(value, str) and (found := re.fullmatch(PATTERN, value.strip(), re.ASCII)):
        unit = found[1] or ""
        size = int(value.strip().removesuffix(unit)) * UNITS[unit]
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    if size < 1:
        raise PydanticCustomError("size", "must be a size of 1 byte or more", {"hint": FORMS})
    return size


Size = Annotated[
    int,
    BeforeValidator(_bytes),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": PATTERN}]}
    ),
]
"""A field that takes a size."""
