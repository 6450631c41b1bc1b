"""The sentence for operands whose types do not fit: which they are, and what each is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rondel.graph.values import number

SHOWN = 40
"""How many characters of a value are shown."""

_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PATH = r"(?<![\w.])({roots})((?:\.[A-Za-z_]\w*(?!\w*\s*\())*)"
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "a bool"),
    (int, "an int"),
    (float, "a double"),
    (str, "a string"),
    (list, "a list"),
    (dict, "a map"),
)


def without_texts(source: str) -> str:
    """An expression with its quoted texts emptied."""
    return _TEXTS.sub("''", source)


def misfit(source: str, names: Sequence[str], values: Mapping[str, Any]) -> str:
    """The sentence that the types of the operands do not fit, with the values."""
    found = dict(_operands(source, names, values))
    told = ", ".join(f"{path} is {_described(value)}" for path, value in found.items())
    text = f"its operands do not fit together: {told}".rstrip(": ")
    figures = [path for path, value in found.items() if _is_written_figure(value)]
    if figures:
        return f"{text}; write double({figures[0]}) for the number in it"
    nulls = [path for path, value in found.items() if value is None]
    return f"{text}; guard it with {nulls[0]} != null && …" if nulls else text


def _operands(
    source: str, names: Sequence[str], values: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The paths that an expression names, with what is there."""
    if not names:
        return
    roots = "|".join(map(re.escape, names))
    for root, keys in re.findall(_PATH.replace("{roots}", roots), without_texts(source)):
        path, value = root, values.get(root)
        for key in keys.split(".")[1:]:
            if not isinstance(value, dict) or key not in value:
                break
            path, value = f"{path}.{key}", value[key]
        yield path, value


def _described(value: Any) -> str:
    if value is None:
        return "null"
    name = next((name for kind, name in _TYPES if isinstance(value, kind)), type(value).__name__)
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    return f"{name} ({shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'})"


def _is_written_figure(value: Any) -> bool:
    return isinstance(value, str) and number(value) is not None
