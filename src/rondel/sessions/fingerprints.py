"""Fingerprints of the functions of a graph, so that a session notices when one has changed.

A fingerprint is taken of the compiled code: comments, line numbers, formatting and docstrings are
not in it. Plain values that a function closes over, its defaults, and the functions of its own
module that it calls are; lists and objects are not, for they change while it runs. Another version
of Python compiles differently, so a fingerprint names its version.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType
from typing import Any

from rondel.engine.registry import Registry
from rondel.errors import CodeChanged
from rondel.graph.source import values_in
from rondel.journal.store import SessionRow
from rondel.sessions.graph import Graph

log = logging.getLogger("rondel.sessions")

FUNCTIONS = "functions"
"""The label with a fingerprint of each function that the session's graph calls."""

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"

LETTERS = 12
"""The length of a fingerprint; it protects against mistakes, not against an attacker."""

PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


def fingerprints_of(graph: Graph) -> dict[str, str]:
    """The fingerprint of each function that the graph calls, by its place in the graph."""
    own = {name: fingerprint(code) for name, code in graph.code.items()}
    return own | _registered(graph.registry, graph.document)


def change_of_code(row: SessionRow, now: Mapping[str, str]) -> str:
    """A sentence that names the functions that changed since the session began; empty if none."""
    names = changed(row.labels.get(FUNCTIONS, {}), now)
    return f"{_listed(names)} changed since session {row.id} began" if names else ""


def check_code(row: SessionRow, now: Mapping[str, str], *, strict: bool) -> None:
    """Warn if a session would go on with changed functions; if `strict`, raise CodeChanged."""
    before = row.labels.get(FUNCTIONS, {})
    if change := change_of_code(row, now):
        if strict:
            raise CodeChanged(
                f"{change}; hand over the graph as it was, or go on without strict code"
            )
        log.warning("%s; it goes on with the code of now", change)
    if strict and (unknown := incomparable(before, now)):
        raise CodeChanged(
            f"session {row.id}: nobody can tell whether {_listed(unknown)} changed, because the "
            "session began with another version of Python or of Rondel; go on without strict code"
        )


def fingerprint(code: Any) -> str:
    """The fingerprint of a function, or of the class of a callable object or a processor."""
    digest = blake2b(digest_size=LETTERS // 2)
    for part in _parts(code, set()):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return f"{PYTHON}:{digest.hexdigest()}"


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names whose code has changed, without those that another version of Python compiled."""
    return [
        name
        for name, known in before.items()
        if name in now and known != now[name] and _python(known) == _python(now[name])
    ]


def incomparable(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names that cannot be compared: no fingerprint, or one of another version of Python."""
    return [
        name
        for name, current in now.items()
        if name not in before or _python(before[name]) != _python(current)
    ]


def _registered(registry: Registry, document: Any) -> dict[str, str]:
    """The fingerprints of registered functions that a document names; not of Rondel's own."""
    texts = {value for value in values_in(document) if isinstance(value, str)}
    named = texts.intersection(registry.names("function"))
    functions = {name: registry.function_named(name) for name in sorted(named)}
    return {
        f"function {name}": fingerprint(function)
        for name, function in functions.items()
        if not str(getattr(function, "__module__", "")).startswith("rondel.")
    }


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _python(fingerprint: str) -> str:
    return fingerprint.partition(":")[0]


def _parts(code: Any, seen: set[int]) -> Iterator[str]:
    """Everything that decides what the code does, in a fixed order."""
    if isinstance(code, MethodType):
        yield from _parts(code.__func__, seen)
        yield from _state(code.__self__, seen)
    elif isinstance(code, partial):
        yield from _parts(code.func, seen)
        yield from _value((code.args, tuple(sorted(code.keywords.items()))), seen)
    elif isinstance(code, FunctionType):
        if id(code) not in seen:
            seen.add(id(code))
            yield from _function(code, seen)
    elif isinstance(code, type):
        yield from _class(code, seen)
    elif _is_written_in_python(type(code)):
        yield from _class(type(code), seen)
        yield from _state(code, seen)
    else:
        named = code if callable(code) else type(code)
        yield f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', repr(named))}"


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _code(function.__code__, function.__doc__)
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield from _value(default, seen)
    for cell in function.__closure__ or ():
        try:
            yield from _value(cell.cell_contents, seen)
        except ValueError:  # it is filled later
            yield "empty"
    for called in _neighbours(function):
        yield from _parts(called, seen)


def _neighbours(function: FunctionType) -> list[Callable[..., Any]]:
    """The functions and classes of its own module that a function names."""
    known = function.__globals__
    named = [known.get(name) for name in sorted(_names(function.__code__))]
    home = function.__module__
    return [
        value
        for value in named
        if isinstance(value, FunctionType | type) and value.__module__ == home
    ]


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _code(code: CodeType, doc: str | None = None) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]))
    for place, const in enumerate(code.co_consts):
        if isinstance(const, CodeType):
            documented = const.co_consts[0] if const.co_consts else None
            yield from _code(const, documented if isinstance(documented, str) else None)
        elif place > 0 or const != doc:
            yield _constant(const)


def _constant(const: Any) -> str:
    """A constant of compiled code as text that is the same in every process."""
    if isinstance(const, frozenset):
        return f"frozenset({sorted(map(_constant, const))})"
    if isinstance(const, tuple):
        return f"({','.join(map(_constant, const))})"
    return repr(const)


def _class(code: type, seen: set[int]) -> Iterator[str]:
    """The methods of a class and of its bases, if they are written in Python."""
    if id(code) in seen:
        return
    seen.add(id(code))
    for base in code.__mro__:
        if not _is_written_in_python(base):
            continue
        for name, value in sorted(vars(base).items()):
            method = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if isinstance(method, property):
                method = method.fget
            if isinstance(method, FunctionType):
                yield name
                yield from _parts(method, seen)
            elif isinstance(method, PLAIN) and not name.startswith("__"):
                yield f"{name}={method!r}"


def _is_written_in_python(code: type) -> bool:
    return any(isinstance(value, FunctionType) for value in vars(code).values())


def _state(owner: Any, seen: set[int]) -> Iterator[str]:
    """The plain values that an object holds."""
    for name, value in sorted(getattr(owner, "__dict__", {}).items()):
        if isinstance(value, PLAIN):
            yield f"{name}={value!r}"
        elif isinstance(value, FunctionType | MethodType | partial):
            yield name
            yield from _parts(value, seen)


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    """A value that a function closes over: plain values as they are, functions by fingerprint."""
    if isinstance(value, PLAIN):
        yield repr(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _value(item, seen)
    elif isinstance(value, FunctionType | MethodType | partial):
        yield from _parts(value, seen)
    else:
        yield type(value).__qualname__
