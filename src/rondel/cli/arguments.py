"""Parses options of several commands: inputs, changes, answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.graph.source import Path

KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(?!=)(.*)", re.DOTALL)
ROOTS = ("graph", "vars", "version")
"""The first keys of paths in a whole document; any other path begins inside `graph`."""

STEP = re.compile(
    r"""\.?(?: \["([^"]*)"\] | \['([^']*)'\] | \[(\d+)\] | ([^.\[\]="']+) )""", re.VERBOSE
)


def parse_inputs(options: Sequence[str]) -> dict[str, Any]:
    """A session's inputs: `key=value` each one key, anything else the task.

    A formula is no key: one letter is a key only before a single word, `==` never follows one.
    """
    inputs: dict[str, Any] = {}
    for option in options:
        key, value = _input(option)
        if key in inputs:
            raise CallError(f"-i gives {key!r} twice; put it all in one -i {key}=TEXT")
        inputs[key] = value
    return inputs


def _input(option: str) -> tuple[str, Any]:
    found = KEY.fullmatch(option)
    if found is None:
        return "task", option
    value = parse_value(found[2])
    is_formula = len(found[1]) == 1 and isinstance(value, str) and len(value.split()) > 1
    return ("task", option) if is_formula else (found[1], value)


def parse_object(text: str) -> dict[str, Any]:
    """The inputs of `--input-json`: one JSON object, taken as it is."""
    value = parse_value(text)
    if not isinstance(value, dict):
        raise CallError('--input-json is not a JSON object; write it as in \'{"task": "..."}\'')
    return value


def merged(*inputs: dict[str, Any]) -> dict[str, Any]:
    """All inputs together; raises if two of them give the same key."""
    whole: dict[str, Any] = {}
    for given in inputs:
        twice = next((key for key in given if key in whole), None)
        if twice is not None:
            raise CallError(f"the input {twice!r} is given twice; leave one of them out")
        whole |= given
    return whole


def parse_value(text: str) -> Any:
    """The value of valid JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except ValueError:
        return text


def _not_json(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def parse_change(option: str) -> tuple[Path, Any]:
    """The path and the value of `--set path=value`."""
    path, end = _steps(option)
    if not path or option[end : end + 1] != "=":
        raise CallError(
            f"--set {option!r} is not path=value; write it as in "
            "--set limits.max_steps=5 or --set 'nodes[\"A.b\"].config.role=editor'"
        )
    return path, parse_setting(path[0], option[end + 1 :])


def parse_changes(options: Sequence[str]) -> dict[str, Any]:
    """The changes that a fork makes, by path; as in a file, `graph.` in front may be left out."""
    changes: dict[str, Any] = {}
    for option in options:
        path, equals, value = option.partition("=")
        if not path or not equals:
            raise CallError(
                f"--set {option!r} is not path=value; write inputs.KEY=VALUE, "
                "nodes.ID.config.KEY=VALUE, loops.HEAD.KEY=VALUE or answer=VALUE"
            )
        if "[" in path:
            steps, _ = parse_change(option)
            path = ".".join(map(str, steps))
        path = path.removeprefix("graph.")
        changes[path] = parse_setting(path.partition(".")[0], value)
    return changes


def parse_setting(root: str | int, text: str) -> Any:
    """What `--set` puts below a root: JSON, else as a graph has it; what is said stays text."""
    value = parse_value(text)
    is_said = root in ("inputs", "answer") or not isinstance(value, str)
    return value if is_said else _as_in_a_graph(value)


def _as_in_a_graph(text: str) -> Any:
    """A list or mapping as a graph file may have it, `{rounds: 3}`; else the text itself."""
    if text[:1] + text[-1:] not in ("{}", "[]"):
        return text
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError):  # `{{ input }}`
        return text
    is_template = isinstance(value, dict) and None in value.values()  # `{draft}`
    return text if is_template else json.loads(json.dumps(value, default=str))


def in_document(path: Path, document: dict[str, Any]) -> Path:
    """Where a path of `--set` leads in a document: `graph.` in front may be left out."""
    if "graph" not in document and "nodes" in document:
        return path[1:] if path[0] == "graph" and len(path) > 1 else path
    return path if path[0] in ROOTS else ("graph", *path)


def parse_path(text: str) -> Path:
    """A path such as `graph.nodes[2].config`, as errors print it."""
    return _steps(text)[0]


def _steps(text: str) -> tuple[Path, int]:
    steps: list[str | int] = []
    end = 0
    while found := STEP.match(text, end):
        if found[0].startswith(".") != bool(steps and found[4] is not None):
            break
        word = next(group for group in found.groups() if group is not None)
        steps.append(int(word) if found[3] is not None else word)
        end = found.end()
    return tuple(steps), end


class Answers:
    """The `--answer` options, each used once, in order: those of a node, and those for any."""

    def __init__(self, options: Sequence[str], humans: Iterable[str]) -> None:
        self._humans = Names(humans)
        self._left = [self._parsed(option) for option in options]

    def next_for(self, node: str) -> str | None:
        """The next answer to that node's question, if there is one."""
        for place, (whose, text) in enumerate(self._left):
            if whose in (None, node):
                del self._left[place]
                return text
        return None

    def _parsed(self, option: str) -> tuple[str | None, str]:
        node, equals, text = option.partition("=")
        if equals and node in self._humans:
            return node, text
        hint = self._humans.hint(node) if equals else ""
        if hint.startswith("did you mean"):
            # As an answer for any node it would silently go to the wrong one.
            raise CallError(f"--answer {option!r}: no node {node!r} asks anybody; {hint}")
        return None, option
