"""The English sentences that the sources make, as templates: what a catalogue must know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "rondel"
OWN = ("words",)
ERRORS = (
    "Problem",
    "CallError",
    "UnknownSession",
    "WrongState",
    "SessionBusy",
    "PydanticCustomError",
    "complain",
)


def own() -> set[str]:
    """What the command line itself says: the first arguments of `words` and `counted`."""
    found = set()
    for call in _calls(SOURCES / "cli", ("words", "counted")):
        found |= {text for text in map(_constant, call.args) if text is not None}
    return found


def errors(folder: str) -> set[str]:
    """What errors made in a folder say: messages and hints."""
    found: set[str] = set()
    for call in _calls(SOURCES / folder, ERRORS):
        for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
            found |= {*_templates(value)}
    return {text for text in found if text.count(" ") > 1}


def _calls(folder: Path, names: tuple[str, ...]) -> Iterator[ast.Call]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names:
                yield node


def _templates(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr():
            yield _template(value)
        case ast.Call() | ast.Name() | ast.Attribute():
            return
        case ast.IfExp():
            yield from _templates(value.body)
            yield from _templates(value.orelse)
        case ast.Dict():
            for each in value.values:
                yield from _templates(each)


def _template(joined: ast.JoinedStr) -> str:
    """An f-string with plain names for its values."""
    text, seen = "", set()
    for part in joined.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            names = re.findall(r"[a-z_]+", ast.unparse(part.value).replace("__", "").lower())
            name = names[-1] if names else "value"
            while name in seen:
                name += "_"
            seen.add(name)
            text += "{" + name + "}"
    return text


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
