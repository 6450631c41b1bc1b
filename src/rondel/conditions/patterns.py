"""Regular expressions in graph files."""

from __future__ import annotations

import re


def readable(pattern: str) -> str:
    """The pattern itself, if it is a regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return pattern
