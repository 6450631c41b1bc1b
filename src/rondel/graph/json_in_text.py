"""JSON objects that a model wrote into its text, between fences or in the middle of prose.

One pass finds where objects begin and end; only what is found is decoded. What an attempt
at an object learns of the braces inside it is kept, even if it fails. So no brace is tried twice,
no character is read more than twice, and the cost is linear for any text.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from rondel.graph.surrogates import wholly

MAX_DEPTH: Final = 64
"""An object that nests deeper is left out, with everything inside it."""

_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
        (?P<mark>[{}\[\]:,])
      | (?P<string>"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+")
      | (?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)
    )""",
    re.VERBOSE,
)

# What may come next in a container, and what is expected then.
_VALUE = {"string": "after", "scalar": "after", "{": "open", "[": "open"}
_GRAMMAR: Final[dict[str, dict[str, str]]] = {
    "first key": {"string": "colon", "}": "close"},
    "key": {"string": "colon"},
    "colon": {":": "value"},
    "value": _VALUE,
    "first value": {**_VALUE, "]": "close"},
    "after": {",": "next", "}": "close", "]": "close"},
}
_PARTNER: Final = {"}": "{", "]": "["}


def objects_in(text: str) -> list[dict[str, Any]]:
    """The JSON objects in `text`, in order; of nested ones the outermost.

    Line breaks inside strings are accepted. What strict JSON cannot express is left out (infinite
    numbers) or replaced (half a character).
    """
    extents = _Extents(text)
    found = []
    at = text.find("{")
    while at >= 0:
        end, depth = extents.of(at)
        if end and depth <= MAX_DEPTH:
            value = _decoded(text[at:end])
            if value is not None:
                found.append(value)
        at = text.find("{", end or at + 1)
    return found


class _Extents:
    """Where each object of a text ends and how deep it nests, found once."""

    __slots__ = ("_known", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[int, tuple[int, int]] = {}

    def of(self, start: int) -> tuple[int, int]:
        """The end and the depth of the object that begins at `start`; 0, 0 if none does."""
        if start not in self._known:
            self._read(start)
        return self._known[start]

    def _read(self, start: int) -> None:
        containers: list[_Container] = []
        at, state = start, "value"
        while state:
            token = _TOKEN.match(self._text, at)
            if token is None:
                break
            at = token.end()
            mark = token["mark"] or str(token.lastgroup)
            state = _GRAMMAR[state].get(mark, "")
            if state == "open":
                containers.append(_Container(mark, at - 1))
                state = "first key" if mark == "{" else "first value"
            elif state == "next":
                state = "key" if containers[-1].mark == "{" else "value"
            elif state == "close":
                state = self._close(containers, mark, at)
        for container in containers:
            self._known[container.start] = 0, 0

    def _close(self, containers: list[_Container], mark: str, end: int) -> str:
        """What is expected after the innermost container; nothing if it ends the wrong way."""
        if _PARTNER[mark] != containers[-1].mark:
            return ""
        closed = containers.pop()
        self._known[closed.start] = end, closed.depth
        if not containers:
            return ""
        containers[-1].depth = max(containers[-1].depth, closed.depth + 1)
        return "after"


@dataclass(slots=True)
class _Container:
    """An object or array that is open."""

    mark: str
    start: int
    depth: int = 1


def _decoded(source: str) -> dict[str, Any] | None:
    try:
        value: dict[str, Any] = json.loads(source, strict=False, parse_float=finite)
    except ValueError:
        return None
    whole: dict[str, Any] = wholly(value) if "\\u" in source else value
    return whole


def finite(digits: str) -> float:
    """The number; raises ValueError if strict JSON cannot express it."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large for a number")
    return number
