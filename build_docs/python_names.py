"""The reference of the Python names, made from their signatures, docstrings and examples."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import rondel
from build_docs.python_examples import EXAMPLES, TEA

CONSTRUCTORS = {"Emit": "(messages, state=UNSET, verdict=None, report=None)"}
"""What a compiled class does not tell of itself; as plain Python it tells the same."""

OPENINGS = {
    "Emit": "The step produced messages; they go along the edges that hold for them.",
    "Handler": "The rest of the chain that a middleware is given: the next middleware, or the node.",
    "Outcome": "What a processor returns: `Emit`, `Nothing` or `Suspend`.",
    "NOTHING": "What a function returns so that its node emits no message and no edge fires.",
}
ORDER = (
    *("run", "Graph", "Engine", "Session", "Event", "Result"),
    *("Context", "Message", "NOTHING", "Processor", "Outcome", "Emit", "Nothing", "Suspend"),
    *("Question", "Router", "Verdict", "Usage", "Middleware", "Handler", "Lock"),
    *("Registry", "builtin_registry", "GraphError", "RondelError"),
)


def page() -> str:
    """docs/reference/python.md."""
    parts = [
        "# Python\n\nEvery public name, with an example that a test runs. Made from the code "
        "(`python -m build_docs`). The examples share this graph:\n\n"
        f'```python\nTEA = """{TEA}"""\n```\n'
    ]
    names = [*ORDER, *(name for name in rondel.__all__ if name not in ORDER)]
    return "".join([*parts, *(_name(name) for name in names)])


def _name(name: str) -> str:
    value = getattr(rondel, name)
    if name not in EXAMPLES:
        raise SystemExit(f"give an example of {name}, in python_examples.py")
    text = f"\n## `{name}`\n\n{OPENINGS.get(name) or _doc(value)}\n"
    members = list(_members(value)) if inspect.isclass(value) else []
    if inspect.isfunction(value):
        text += f"\n```python\n{name}{_signature(value)}\n```\n"
    elif inspect.isclass(value) and not getattr(value, "_is_protocol", False):
        constructor = CONSTRUCTORS.get(name) or _constructor(value)
        text += f"\n```python\n{name}{constructor}\n```\n"
    if members:
        text += "\n| | |\n|---|---|\n" + "\n".join(members) + "\n"
    return f"{text}\nExample:\n\n```python\n{_body(EXAMPLES[name])}```\n"


def _members(value: type) -> Iterator[str]:
    fields = getattr(value, "__struct_fields__", ())
    known = dict(_attributes(value))
    for field in fields:
        if field not in known:
            yield f"| `.{field}` | |"
    for name, member in known.items():
        if isinstance(member, property):
            yield f"| `.{name}` | {_doc(member.fget)} |"
        else:
            function = member.__func__ if isinstance(member, classmethod) else member
            shown = f"{name}{_signature(function)}"
            prefix = "await " if inspect.iscoroutinefunction(function) else ""
            yield f"| `{prefix}.{shown}` | {_doc(function)} |".replace(" | None", " \\| None")


def _attributes(value: type) -> Iterator[tuple[str, Any]]:
    """The documented, public properties and methods of a class."""
    for base in value.__mro__:
        if not base.__module__.startswith("rondel"):
            continue
        for name, member in vars(base).items():
            function = member.__func__ if isinstance(member, classmethod) else member
            known = isinstance(member, property) or inspect.isfunction(function)
            if (
                known
                and not name.startswith("_")
                and (_doc(member) or isinstance(member, property))
            ):
                yield name, member


def _constructor(value: type) -> str:
    try:
        return _signature(value)
    except (TypeError, ValueError):
        return "(...)"


def _signature(function: Any) -> str:
    """The parameters without self and without their types' modules, which the docs need not show."""
    signature = inspect.signature(function)
    kept = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    bare = signature.replace(
        parameters=[each.replace(annotation=inspect.Parameter.empty) for each in kept],
        return_annotation=inspect.Signature.empty,
    )
    return re.sub(r"<[^>]*>", "...", str(bare)).replace("|", "\\|")


def _doc(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return " ".join(text.split()).replace("|", "\\|")


def _body(example: Any) -> str:
    lines = inspect.getsource(example).splitlines(keepends=True)[1:]
    return textwrap.dedent("".join(lines))
