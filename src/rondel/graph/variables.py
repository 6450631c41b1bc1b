"""`${NAME}` in a document: from its vars, then the environment, then `.env` beside the file."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path as FilePath
from typing import Any

from rondel.graph.names import Names
from rondel.graph.positions import MAX_BYTES, MAX_DEPTH
from rondel.graph.source import Complaint, Path

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
NAME = re.compile(NAME_PATTERN)
REFERENCE = re.compile(r"\$\$\{|\$\{([^{}\n]*)(\}?)")
ADDRESS = re.compile(r"(?:^|_)(?:url|uri|endpoint|base|host)$", re.IGNORECASE)
MAX_CHAIN = 100
REPLACEABLE = (str, dict, list)
ATOMS = frozenset({int, float, bool, type(None)})
LITERAL = "write '$${' where '${' is meant as it stands"
NEEDED = "a run needs it: in the environment or in .env"
STORE = f"set it under 'vars:', or store it as a secret of the server; {LITERAL}"
DEFINE = f"set it under 'vars:', in the environment or in .env; {LITERAL}"


UNSET_ADDRESS = "https://unset.invalid"
"""Stands for an unknown address where a graph is only checked, not run."""

Spared = Callable[[Path, str], bool]
"""Whether the variable of that name, at that path, may be unset."""


class WithSecrets(dict[str, str]):
    """Secrets, which go before the process's environment and `.env` and do not shut them out."""


class EnvironmentText(str):
    """Text that came from the environment or `.env`: it may be a secret, and it has no type."""

    __slots__ = ()


@dataclass(slots=True)
class Filled:
    """A document with its variables replaced, and which were unset or from the environment."""

    data: Any
    problems: list[Complaint] = field(default_factory=list)
    spared: list[Complaint] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)


def fill(
    document: Any,
    directory: FilePath,
    environ: Mapping[str, str] | None = None,
    spared: Spared | None = None,
    around: Mapping[str, Any] | None = None,
) -> Filled:
    """The document with every `${NAME}` replaced; parts without any are shared with the original.

    `around` are the variables of the document that this one is part of, where they count here too.
    Without `environ`, the process's environment counts and then `.env` in the directory; with
    nothing but secrets they count after these. What is not set and is `spared` stays as it is
    written.
    """
    declared = document.get("vars") if isinstance(document, dict) else None
    values = {**(around or {}), **(declared if isinstance(declared, dict) else {})}
    return _Filler(values, directory, environ, spared).run(document)


def surroundings(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    """What variables stand for, where neither the document nor `.env` says."""
    if environ is None:
        return os.environ
    return ChainMap(environ, os.environ) if isinstance(environ, WithSecrets) else environ


def read_dotenv(text: str) -> dict[str, str]:
    """The names and values of a `.env` file; lines that are no assignment do not count."""
    from dotenv.parser import parse_stream  # few graphs have a .env beside them

    lines = parse_stream(StringIO(text))
    return {line.key: line.value or "" for line in lines if line.key and not line.error}


class _Filler:
    """Replaces references while it walks a document."""

    def __init__(
        self,
        declared: Mapping[str, Any],
        directory: FilePath,
        environ: Mapping[str, str] | None,
        spared: Spared | None,
    ) -> None:
        self.spared = spared
        self.declared = declared
        self.directory = directory
        self.environ = surroundings(environ)
        is_open = environ is None or isinstance(environ, WithSecrets)
        self.dotenv: dict[str, str] | None = None if is_open else {}
        self.define = DEFINE if is_open else STORE
        self.names = Names(declared)
        self.values: dict[str, Any] = {}
        self.open: list[str] = []
        self.path: list[str | int] = []
        self.shared: dict[int, Any] = {}
        self.room = MAX_BYTES
        self.filled = Filled(None)

    def run(self, document: Any) -> Filled:
        try:
            self.filled.data = self._walk(document)
        except _TooDeepError:
            message = f"the document nests deeper than {MAX_DEPTH} levels"
            self._problem(message, path=tuple(self.path[:4]))
        return self.filled

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, dict | list) or not value:
            return value
        if id(value) not in self.shared:
            if len(self.path) >= MAX_DEPTH:
                raise _TooDeepError
            self.shared[id(value)] = self._container(value)
        return self.shared[id(value)]

    def _container(self, value: Any) -> Any:
        """The container itself if nothing in it changed, else a changed copy."""
        path, copy = self.path, None
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            if "${" not in item if isinstance(item, str) else _is_plain(item):
                continue
            path.append(step)
            new = self._walk(item)
            path.pop()
            if new is not item:
                copy = value.copy() if copy is None else copy
                copy[step] = new
        return value if copy is None else copy

    def _text(self, text: str) -> Any:
        """A string's value; what is wrong with its references is reported where it stands."""
        for found in REFERENCE.finditer(text):
            if found[1] is not None:
                self._check(found[1], bool(found[2]))
        if len(self.path) == 2 and self.path[0] == "vars":
            return self._value(str(self.path[1]))
        return self._expand(text)

    def _check(self, name: str, closed: bool) -> None:
        if not closed:
            self._problem(f"the reference '${{{name}' has no closing brace", LITERAL)
        elif not NAME.fullmatch(name):
            self._problem(f"{name!r} is not a variable's name", LITERAL)
        elif name not in self.declared and self._from_environment(name) is None:
            if self.spared is not None and self.spared(tuple(self.path), name):
                told = Complaint(tuple(self.path), f"the variable {name!r} is not set", NEEDED)
                self.filled.spared.append(told)
                return
            near = self.names.hint(name)
            hint = near if near.startswith("did") else self.define
            self._problem(f"the variable {name!r} is not set", hint)

    def _expand(self, text: str) -> Any:
        whole = REFERENCE.fullmatch(text)
        if whole and whole[2]:
            return self._value(whole[1])
        parts: list[str] = []
        end, secret = 0, False
        for found in REFERENCE.finditer(text):
            value = "${" if found[0] == "$${" else self._value(found[1])
            secret = secret or isinstance(value, EnvironmentText)
            parts += [text[end : found.start()], _in_text(value)]
            end = found.end()
            if not self._spend(len(parts[-1])):
                return ""
        result = "".join([*parts, text[end:]])
        return EnvironmentText(result) if secret else result

    def _value(self, name: str) -> Any:
        """The value of a name, or empty text where a problem says why there is none."""
        if name in self.values:
            return self.values[name]
        if name not in self.declared:
            return self._from_environment(name) or self._unset(name)
        value = self.declared[name]
        if isinstance(value, str) and "${" in value:
            value = self._declared(name, value)
        self.values[name] = value
        return value

    def _unset(self, name: str) -> str:
        if self.spared is None or not self.spared(tuple(self.path), name):
            return ""
        is_address = ADDRESS.search(name) or (self.path and self.path[-1] in ("base_url", "url"))
        return UNSET_ADDRESS if is_address else f"${{{name}}}"

    def _declared(self, name: str, text: str) -> Any:
        if name in self.open:
            chain = " -> ".join([*self.open[self.open.index(name) :], name])
            self._problem(f"the variable refers to itself: {chain}", path=("vars", name))
            return ""
        if len(self.open) >= MAX_CHAIN:
            message = f"the variable is reached through more than {MAX_CHAIN} others"
            self._problem(message, path=("vars", name))
            return ""
        self.open.append(name)
        value = self._expand(text)
        self.open.pop()
        return value

    def _from_environment(self, name: str) -> EnvironmentText | None:
        value = self.environ.get(name)
        if value is None:
            value = self._dotenv().get(name)
        if value is None:
            return None
        self.filled.environment[name] = value
        return EnvironmentText(value)

    def _dotenv(self) -> dict[str, str]:
        if self.dotenv is None:
            file = self.directory / ".env"
            text = file.read_text("utf-8-sig", "replace") if file.is_file() else ""
            self.dotenv = read_dotenv(text)
        return self.dotenv

    def _spend(self, size: int) -> bool:
        """Refuse variables that would grow into a text that fills the memory."""
        if self.room >= 0 > self.room - size:
            self._problem(f"the variables make more than {MAX_BYTES} characters of text")
        self.room -= size
        return self.room >= 0

    def _problem(self, message: str, hint: str = "", path: Path | None = None) -> None:
        self.filled.problems.append(Complaint(path or tuple(self.path), message, hint))


class _TooDeepError(Exception):
    """The document nests too deep to be walked."""


def _is_plain(value: Any, deep: int = 2) -> bool:
    """Whether a value holds nothing to replace; False also where it nests deeper than `deep`.

    Deeper values are walked in a way that visits an object once, however many aliases repeat it.
    """
    kind = value.__class__
    if kind is not dict and kind is not list:
        return not isinstance(value, REPLACEABLE)
    for item in value.values() if kind is dict else value:
        if item.__class__ is str:
            if "${" in item:
                return False
        elif item.__class__ not in ATOMS and not (deep and _is_plain(item, deep - 1)):
            return False
    return True


def _in_text(value: Any) -> str:
    """A variable's value inside other text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
