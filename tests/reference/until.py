"""The expressions of `until`, as far as the generator writes them: a small part of CEL."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(r"""\s*("[^"]*"|\d+(?:\.\d+)?|\w+|&&|\|\||[<>=!]=|[<>!().])""")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
CONSTANTS = {"true": True, "false": False, "null": None}
MISSING = object()


def until_holds(
    expression: str, data: dict[str, Any], text: str, round: int, score: float | None
) -> bool:
    """Whether an expression over the end of a round is true."""
    names = {"data": data, "text": text, "round": round, "score": score, **CONSTANTS}
    return _Reader(TOKEN.findall(expression), names).whole() is True


@dataclass
class _Reader:
    """Reads and evaluates in one go; what a guard rules out is read, but not compared."""

    tokens: list[str]
    names: dict[str, Any]
    idle: int = 0
    """How many guards around have decided already."""

    def whole(self) -> Any:
        value = self._any_of()
        if self.tokens:
            raise ValueError(f"cannot read on at {self.tokens[0]!r}")
        return value

    def _take(self, *wanted: str) -> bool:
        if self.tokens and self.tokens[0] in wanted:
            self.tokens.pop(0)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(f"{token!r} is missing before {self.tokens[:1]}")

    def _any_of(self) -> Any:
        value = self._all_of()
        while self._take("||"):
            right = self._behind_guard(self._all_of, decided=value is True)
            value = value is True or right is True
        return value

    def _all_of(self) -> Any:
        value = self._comparison()
        while self._take("&&"):
            right = self._behind_guard(self._comparison, decided=value is not True)
            value = value is True and right is True
        return value

    def _behind_guard(self, read: Callable[[], Any], decided: bool) -> Any:
        self.idle += decided
        value = read()
        self.idle -= decided
        return value

    def _comparison(self) -> Any:
        if self._take("!"):
            return self._comparison() is not True
        left = self._operand()
        if self.tokens and self.tokens[0] in COMPARISONS:
            compare = COMPARISONS[self.tokens.pop(0)]
            right = self._operand()
            return False if self.idle else compare(left, right)
        if self._take("in"):
            return left in self._operand()
        return left

    def _operand(self) -> Any:
        if self._take("("):
            value = self._any_of()
            self._expect(")")
            return value
        if self._take("has"):
            self._expect("(")
            value = self._member() is not MISSING
            self._expect(")")
            return value
        return self._member()

    def _member(self) -> Any:
        value = self._atom(self.tokens.pop(0))
        while self._take("."):
            if self._take("contains"):
                self._expect("(")
                value = self._atom(self.tokens.pop(0)) in value
                self._expect(")")
            else:
                key = self.tokens.pop(0)
                value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        return value

    def _atom(self, token: str) -> Any:
        if token.startswith('"'):
            return token[1:-1]
        return float(token) if token[0].isdigit() else self.names[token]
