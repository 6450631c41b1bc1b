"""What a bare word in a graph file means: YAML 1.2's core rules, so `no` is a word, not false."""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
NUMBER_STARTS = frozenset("0123456789+-.")
MAX_DIGITS = 4000  # Python refuses to read integers of more than 4300: longer ones stay text
INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
OCTAL = re.compile(r"0o[0-7]+")
HEX = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)


def read_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in NUMBER_STARTS or len(text) > MAX_DIGITS:
        return text
    if INTEGER.fullmatch(text):
        return int(text)
    if OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if HEX.fullmatch(text):
        return int(text[2:], 16)
    return float(text) if FLOAT.fullmatch(text) else text
