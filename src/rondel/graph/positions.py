"""YAML or JSON text as plain data, with the line of everything in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from rondel.errors import GraphError, Problem
from rondel.graph.source import Path, Positions, path_text

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100
MAX_ALIASED = 1_000_000

TAG = "tag:yaml.org,2002:"
MERGE = "<<"
SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    f"{TAG}int": (int,),
    f"{TAG}float": (float, int),
    f"{TAG}bool": (bool,),
    f"{TAG}null": (type(None),),
}
SURROGATES = re.compile(r"(\\\\)|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
SYNTAX_HINTS = {
    "mapping values are not allowed": "put text that contains ': ' in quotes",
    "did not find expected": "check the indentation and the brackets here and just above",
    "could not find expected ':'": "check the indentation and the brackets here and just above",
    "unexpected end of stream": "close the quotes",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's plain data, the line of everything in it, and problems that stopped nothing.

    A mapping or list that the text repeats by an alias is one object here, so do not change it.
    """

    data: Any
    positions: Positions
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()


def parse(text: str | bytes, file: str = "") -> Parsed:
    """Plain data of YAML or JSON text; raises GraphError when it cannot be read to the end."""
    builder = _Builder(file)
    try:
        builder.read(_decoded(text, file))
    except _UnreadableError as stop:
        raise GraphError([*builder.problems, stop.problem]) from None
    positions = Positions(builder.root, builder.first, builder.lines, builder.late)
    return Parsed(builder.root, positions, tuple(builder.problems))


class _UnreadableError(Exception):
    """Nothing after this point can be read."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


@dataclass(slots=True)
class _Open:
    """A mapping or list that is still open."""

    container: Any
    lines: Any
    line: int
    anchor: str | None
    mapping: bool
    key: str | None = None
    key_line: int = 0
    merging: bool = False
    merges: list[tuple[int, Any]] = field(default_factory=list)
    weight: int = 1
    height: int = 1


@dataclass(slots=True)
class _Anchor:
    """What an alias stands for, how many values that is, and how deep."""

    value: Any
    weight: int
    height: int


def _decoded(text: str | bytes, file: str) -> str:
    """The text as YAML's reader takes it, within the size limit."""
    if len(text) > MAX_BYTES:
        raise _UnreadableError(_too_big(len(text), file))
    whole = text if isinstance(text, str) else _utf8(text, file)
    return _without_surrogates(whole.removeprefix("\ufeff"), file)


def _utf8(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8 text (byte {error.start + 1})"
        raise _UnreadableError(Problem(message, "", "save it as UTF-8", file, line)) from None


def _too_big(size: int, file: str) -> Problem:
    mib = 1024 * 1024
    message = f"the file has {size / mib:.1f} MiB; a graph file may have {MAX_BYTES // mib} MiB"
    return Problem(message, "", "split it into subgraphs in files of their own", file, 1)


def _without_surrogates(text: str, file: str) -> str:
    """The text with pairs of surrogate escapes joined, which JSON writes and YAML does not know."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        message = "the text holds half of a surrogate pair, which is no character"
        raise _UnreadableError(Problem(message, "", "", file, line)) from None
    if text.lstrip()[:1] not in ("{", "[") or not SURROGATES.search(text):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return SURROGATES.sub(_one_escape, text)


def _one_escape(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    code = 0x10000 + (int(found[2], 16) - 0xD800) * 0x400 + int(found[3], 16) - 0xDC00
    return f"\\U{code:08x}"


class _Builder:
    """Builds the data from the parser's events, without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.root: Any = None
        self.first = 1
        self.lines: dict[int, Any] = {}
        self.late: dict[tuple[int, str | int], int] = {}
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchor] = {}
        self.aliased = 0
        self.documents = 0
        self.handlers: dict[type, Callable[[Any, int], None]] = {
            yaml.ScalarEvent: self.scalar,
            yaml.MappingStartEvent: self.open_mapping,
            yaml.SequenceStartEvent: self.open_list,
            yaml.MappingEndEvent: self.close,
            yaml.SequenceEndEvent: self.close,
            yaml.AliasEvent: self.alias,
            yaml.DocumentStartEvent: self.document,
        }

    def read(self, text: str) -> None:
        """Take in the whole text."""
        try:
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
            try:
                self._events(loader.get_event)
            finally:
                loader.dispose()
        except yaml.reader.ReaderError as error:
            raise _UnreadableError(self._unreadable(error, text)) from None
        except yaml.MarkedYAMLError as error:
            raise _UnreadableError(self._syntax(error, text)) from None

    def _events(self, get_event: Callable[[], Any]) -> None:
        handlers = self.handlers
        while True:
            event = get_event()
            if event is None or event.__class__ is yaml.StreamEndEvent:
                return
            handler = handlers.get(event.__class__)
            if handler:
                handler(event, event.start_mark.line + 1)

    def document(self, _event: yaml.DocumentStartEvent, line: int) -> None:
        self.documents += 1
        if self.documents > 1:
            hint = "a graph file holds one: move what follows '---' to a file of its own"
            raise self._stop("a second YAML document begins here", line, hint)

    def scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame and frame.mapping and frame.key is None:
            frame.merging = event.value == MERGE and event.implicit[0]
            self._key(frame, event.value, line)
            if event.anchor:
                self.anchors[event.anchor] = _Anchor(event.value, 1, 0)
            return
        value = self._value(event, line)
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(value, 1, 0)
        self._add(value, line, 1, 0)

    def _value(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        text: str = event.value
        if event.tag is None:
            return read_scalar(text) if event.implicit[0] else text
        if event.tag in ("!", f"{TAG}str"):
            return text
        kinds = SCALAR_TAGS.get(event.tag)
        if kinds is None:
            self._tag_problem(event.tag, line)
            return text
        value = read_scalar(text)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self._problem(f"{text!r} is not what its tag {_short(event.tag)} says", line)
        return value

    def open_mapping(self, event: yaml.MappingStartEvent, line: int) -> None:
        self._open({}, {}, event, line, f"{TAG}map")

    def open_list(self, event: yaml.SequenceStartEvent, line: int) -> None:
        self._open([], [], event, line, f"{TAG}seq")

    def _open(self, container: Any, lines: Any, event: Any, line: int, tag: str) -> None:
        if self.stack and self.stack[-1].mapping and self.stack[-1].key is None:
            raise self._stop("a mapping or a list cannot be a key", line, "use text as the key")
        if event.tag not in (None, "!", tag):
            self._tag_problem(event.tag, line)
        if len(self.stack) >= MAX_DEPTH:
            raise self._too_deep(line)
        self.anchors.pop(event.anchor, None)
        self.stack.append(_Open(container, lines, line, event.anchor, isinstance(container, dict)))

    def close(self, _event: Any, _line: int) -> None:
        frame = self.stack.pop()
        for line, source in frame.merges:
            self._merge(frame, source, line)
        self.lines[id(frame.container)] = frame.lines
        if frame.anchor:
            self.anchors[frame.anchor] = _Anchor(frame.container, frame.weight, frame.height)
        self._add(frame.container, frame.line, frame.weight, frame.height)

    def alias(self, event: yaml.AliasEvent, line: int) -> None:
        name = event.anchor or ""
        anchor = self.anchors.get(name)
        if anchor is None:
            raise self._no_anchor(name, line)
        frame = self.stack[-1]
        if frame.mapping and frame.key is None:
            if not isinstance(anchor.value, str):
                raise self._stop("only text can be a key", line)
            self._key(frame, anchor.value, line)
            return
        self.aliased += anchor.weight
        if self.aliased > MAX_ALIASED:
            hint = "write a smaller graph, or build it in Python"
            message = f"the aliases stand for more than {MAX_ALIASED} values"
            raise self._stop(message, line, hint)
        if len(self.stack) + anchor.height > MAX_DEPTH:
            raise self._too_deep(line)
        self._add(anchor.value, line, anchor.weight, anchor.height)

    def _key(self, frame: _Open, key: str, line: int) -> None:
        if not frame.merging and key in frame.container:
            path = path_text((*self._path(), key))
            message = f"the key {key!r} stands twice in this mapping"
            hint = f"remove one of them (the first is on line {frame.lines[key]})"
            self.problems.append(Problem(message, path, hint, self.file, line))
        frame.key, frame.key_line = key, line

    def _add(self, value: Any, line: int, weight: int, height: int) -> None:
        if not self.stack:
            self.root, self.first = value, line
            return
        frame = self.stack[-1]
        frame.weight += weight
        frame.height = max(frame.height, height + 1)
        if not frame.mapping:
            frame.container.append(value)
            frame.lines.append(line)
        elif frame.merging:
            frame.merges.append((line, value))
        else:
            self._put(frame, value, line, height)
        frame.key, frame.merging = None, False

    def _put(self, frame: _Open, value: Any, line: int, height: int) -> None:
        key = frame.key
        assert key is not None  # noqa: S101
        if key in frame.container:
            return
        frame.container[key] = value
        frame.lines[key] = frame.key_line
        if height == 0 and line != frame.key_line:
            self.late[id(frame.container), key] = line

    def _merge(self, frame: _Open, source: Any, line: int) -> None:
        for mapping in source if isinstance(source, list) else [source]:
            if not isinstance(mapping, dict):
                self._problem("'<<' merges mappings, and this is none", line)
                continue
            for key, value in mapping.items():
                if key not in frame.container:
                    frame.container[key] = value
                    frame.lines[key] = self.lines[id(mapping)][key]

    def _path(self) -> Path:
        """Where the innermost open container is."""
        steps: list[str | int] = []
        for frame in self.stack[:-1]:
            steps.append(frame.key or "" if frame.mapping else len(frame.container))
        return tuple(steps)

    def _no_anchor(self, name: str, line: int) -> _UnreadableError:
        if any(frame.anchor == name for frame in self.stack):
            return self._stop(f"the alias '*{name}' stands inside the very thing it repeats", line)
        hint = f"mark what it repeats with '&{name}', before this line"
        return self._stop(f"the alias '*{name}' has no anchor", line, hint)

    def _too_deep(self, line: int) -> _UnreadableError:
        hint = "move inner graphs to files of their own"
        message = f"the document nests deeper than {MAX_DEPTH} levels"
        return _UnreadableError(Problem(message, "", hint, self.file, line))

    def _tag_problem(self, tag: str, line: int) -> None:
        self._problem(f"the YAML tag {_short(tag)} is not allowed here", line, "remove the tag")

    def _problem(self, message: str, line: int, hint: str = "") -> None:
        path = self._path()
        if self.stack and self.stack[-1].mapping and self.stack[-1].key is not None:
            path = (*path, self.stack[-1].key)
        self.problems.append(Problem(message, path_text(path), hint, self.file, line))

    def _stop(self, message: str, line: int, hint: str = "") -> _UnreadableError:
        return _UnreadableError(Problem(message, path_text(self._path()), hint, self.file, line))

    def _syntax(self, error: yaml.MarkedYAMLError, text: str) -> Problem:
        problem = error.problem or "unknown error"
        mark = error.problem_mark or error.context_mark
        last = text.count("\n", 0, len(text.rstrip())) + 1
        line = min(mark.line + 1, last) if mark else 1
        hint = next((hint for part, hint in SYNTAX_HINTS.items() if part in problem), "")
        if "cannot start any token" in problem:
            hint = _token_hint(text.splitlines()[line - 1 : line])
        context = f", {error.context}" if error.context else ""
        return Problem(f"this is not valid YAML: {problem}{context}", "", hint, self.file, line)

    def _unreadable(self, error: yaml.reader.ReaderError, text: str) -> Problem:
        line = text.encode().count(b"\n", 0, error.position) + 1
        message = f"the character #x{ord(_character(error)):04x} is not allowed in YAML"
        return Problem(message, "", "remove it, or write it as an escape", self.file, line)


def _character(error: yaml.reader.ReaderError) -> str:
    character: Any = error.character
    if isinstance(character, int):
        return chr(character)
    return character.decode("latin-1") if isinstance(character, bytes) else str(character)


def _token_hint(lines: list[str]) -> str:
    if any("\t" in line for line in lines):
        return "indent with spaces, not with tabs"
    return "put the text in quotes"


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG)}" if tag.startswith(TAG) else tag


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
