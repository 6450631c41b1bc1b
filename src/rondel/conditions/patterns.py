"""Regular expressions of graphs and schemas, in Python's syntax and with a time limit.

They are matched by `regex`, which does all that Python's `re` does and takes a timeout. (RE2 is
linear, but its `\\w`, `\\d`, `\\b` and `$` differ: to it, a Chinese character is no letter.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import regex

from rondel.errors import StepFailed

LIMIT = 0.1
"""Seconds that a pattern may take for one text."""

_SHOWN = 80
_COUNT = re.compile(r"\{(\d+(,\d*)?|,\d*)\}")


class Pattern:
    """A compiled pattern; raises an error where a text takes too long."""

    __slots__ = ("_compiled", "_names", "_source", "groups")

    def __init__(self, source: str, *, ignore_case: bool = False, multiline: bool = False) -> None:
        flags = (regex.IGNORECASE if ignore_case else 0) | (regex.MULTILINE if multiline else 0)
        known = re.compile(source)
        self.groups = known.groups
        self._names = known.groupindex
        self._source = source
        self._compiled = regex.compile(_without_extensions(source), flags | regex.VERSION0)

    def demand_group(self, group: int | str) -> None:
        """Raise ValueError if there is no group of that number or name; 0 is the whole match."""
        if not (group <= self.groups if isinstance(group, int) else group in self._names):
            raise ValueError(f"the pattern {self._source!r} has no group {group!r}")

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text."""
        try:
            return self._compiled.search(text, timeout=LIMIT) is not None
        except TimeoutError:
            raise self._too_long(text) from None

    def matches_in(self, text: str) -> Iterator[Any]:
        """All matches in the text, in order."""
        try:
            yield from self._compiled.finditer(text, timeout=LIMIT)
        except TimeoutError:
            raise self._too_long(text) from None

    def _too_long(self, text: str) -> StepFailed:
        shown = self._source if len(self._source) <= _SHOWN else f"{self._source[:_SHOWN]}…"
        return StepFailed(
            f"the pattern {shown!r} took longer than {LIMIT * 1000:.0f} ms on a text of "
            f"{len(text):,} characters; avoid repeats inside repeats, such as (a+)+"
        )


@lru_cache(maxsize=256)
def pattern_of(source: str) -> Pattern:
    """The pattern, compiled once."""
    return Pattern(source)


def readable(pattern: str) -> str:
    """The pattern itself, if it is a regular expression."""
    try:
        Pattern(pattern)
    except (re.error, regex.error) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return pattern


def _without_extensions(source: str) -> str:
    """The pattern with what only `regex` reads as more than text (`a{e}`, `[[:x:]]`) escaped."""
    made: list[str] = []
    place, in_set = 0, 0
    while place < len(source):
        size = 1
        character = source[place]
        if character == "\\":
            is_named = source.startswith("\\N{", place)
            size = source.find("}", place) - place + 1 if is_named else 2
        elif in_set:
            if character == "]" and place > in_set:
                in_set = 0
            elif character == "[":
                made.append("\\")
        elif character == "[":
            size = 2 if source.startswith("[^", place) else 1
            in_set = place + size
        elif character == "{":
            if counted := _COUNT.match(source, place):
                size = len(counted[0])
            else:
                made.append("\\")
        made.append(source[place : place + size])
        place += size
    return "".join(made)
