"""CEL expressions: safe, terminating, compiled once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from rondel.errors import StepFailed
from rondel.graph.names import Names
from rondel.graph.values import number

TYPES = frozenset(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "optional", "string", "uint")
)
FUNCTIONS = (
    *("contains", "endsWith", "matches", "size", "startsWith"),
    *("bytes", "double", "dyn", "int", "string", "type", "uint"),
    *("duration", "timestamp", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds"),
    *("hasValue", "none", "of", "ofNonZeroValue", "orValue", "value"),
)
MACROS = ("all", "exists", "exists_one", "existsOne", "filter", "has", "map")

OPERATORS = {"and": "&&", "or": "||", "not": "!"}

SHOWN = 40
"""How many characters of a value are shown."""

_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PATH = r"(?<![\w.])({roots})((?:\.[A-Za-z_]\w*(?!\w*\s*\())*)"
_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "a bool"),
    (int, "an int"),
    (float, "a double"),
    (str, "a string"),
    (list, "a list"),
    (dict, "a map"),
)

_BOUND = re.compile(r"\.(?:all|exists|exists_one|existsOne|filter|map)\(\s*([A-Za-z_]\w*)\s*,")


class Expression:
    """An expression over named values that gives a bool or raises.

    A wrong expression is a ValueError of one line when it is made.
    """

    __slots__ = ("_execute", "names", "source")

    def __init__(self, source: str, allowed: Sequence[str]) -> None:
        program = _compiled(source)
        self.source = source
        self.names = _variables(program, source, allowed)
        self._execute = program.execute

    def __call__(self, values: Mapping[str, Any]) -> bool:
        try:
            result = self._execute(values)
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise StepFailed(
                f"the expression {self.source!r} failed: {self._why(error, values)}"
            ) from error
        if result is True or result is False:
            return bool(result)
        raise StepFailed(
            f"the expression {self.source!r} gave {result!r}, which is neither true nor false; "
            "compare it with something"
        )

    def _why(self, error: Exception, values: Mapping[str, Any]) -> str:
        if isinstance(error, KeyError):
            return self._missing(str(error.args[0]))
        called = re.match(r"Undefined variable or function: '(\w+)'", str(error))
        if isinstance(error, TypeError) or (called and called[1] in FUNCTIONS):
            return _misfit(self.source, self.names, values)
        text = " ".join(str(error).split("Check ")[0].split())
        return text.split(". ")[0].rstrip(".")

    def _missing(self, key: str) -> str:
        name = re.escape(key)
        if field := re.search(rf"([A-Za-z_][\w.]*)\.{name}\b", self.source):
            return f"{field[1]} has no {key!r}; guard it with has({field[0]})"
        if index := re.search(rf"([A-Za-z_][\w.]*)\[['\"]{name}['\"]\]", self.source):
            return f"{index[1]} has no {key!r}; guard it with {key!r} in {index[1]}"
        return f"there is no key {key!r}; guard it with has(…)"


def _compiled(source: str) -> Any:
    import cel

    if not source.strip():
        raise ValueError("the expression is empty")
    try:
        return cel.compile(source)
    except ValueError as error:
        raise ValueError(_complaint(source, str(error))) from None


def _complaint(source: str, message: str) -> str:
    """The parser's first complaint, in one line and without its list of tokens."""
    found = re.search(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)", message)
    if not found:
        return f"the expression {source!r} cannot be read"
    _, column, text = found.groups()
    text = text.split(" expecting ")[0].replace("mismatched input '<EOF>'", "it ends too early")
    said = f"the expression {source!r} cannot be read at character {column}: {text}"
    return f"{said}; {hint}" if (hint := _operators(source)) else said


def _operators(source: str) -> str:
    """The CEL operators for words that are operators in other languages."""
    words = re.findall(r"(?<![.\w])(?:and|or|not)(?!\w)", _without_texts(source), re.IGNORECASE)
    pairs = [f"{OPERATORS[word.lower()]} for {word!r}" for word in dict.fromkeys(words)]
    return f"write {', '.join(pairs)}" if pairs else ""


def _variables(program: Any, source: str, allowed: Sequence[str]) -> tuple[str, ...]:
    bound = TYPES.union(_BOUND.findall(source))
    for name in program.variables():
        if name not in allowed and name not in bound:
            raise ValueError(f"unknown name {name!r} in {source!r}; {_meant(name, allowed)}")
    for name in program.functions():
        if name.isidentifier() and name not in FUNCTIONS:
            hint = _operators(name) or Names((*FUNCTIONS, *MACROS)).hint(name)
            raise ValueError(f"unknown function {name!r} in {source!r}; {hint}")
    return tuple(name for name in program.variables() if name in allowed)


def _meant(name: str, allowed: Sequence[str]) -> str:
    """The name that was probably meant, else the same name as a field of the data."""
    if get_close_matches(name, allowed, n=1, cutoff=0.8) or "data" not in allowed:
        return Names(allowed).hint(name)
    return f"did you mean 'data.{name}'?"


def _without_texts(source: str) -> str:
    """An expression with its quoted texts emptied."""
    return _TEXTS.sub("''", source)


def _misfit(source: str, names: Sequence[str], values: Mapping[str, Any]) -> str:
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
    for root, keys in re.findall(_PATH.replace("{roots}", roots), _without_texts(source)):
        path, value = root, values.get(root)
        for key in keys.split(".")[1:]:
            if not isinstance(value, dict) or key not in value:
                break
            path, value = f"{path}.{key}", value[key]
        yield path, value


def _described(value: Any) -> str:
    if value is None:
        return "null"
    name = next(
        (name for kind, name in _TYPE_NAMES if isinstance(value, kind)), type(value).__name__
    )
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    return f"{name} ({shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'})"


def _is_written_figure(value: Any) -> bool:
    return isinstance(value, str) and number(value) is not None
