"""A broken file of ChatDev or Council is answered with its own lines, one line for each error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.command import Ran

CHATDEV = """\
graph:
  id: review
  start: [w]
  end: [z]
  nodes:
    - id: w
      type: passthrough
      config: {}
    - id: g
      type: loop_counter
      config:
        max_iterations: 2
    - id: z
      type: passthrough
      config: {}
  edges:
    - from: w
      to: g
    - from: g
      to: w
    - from: g
      to: z
      condition:
        type: keyword
        config: {any: [limit]}
"""
COUNCIL = """\
{
  "start_node_id": "s",
  "nodes": {
    "s": {
      "type": "start",
      "next_ids": ["a"]
    },
    "a": {
      "type": "agent",
      "next_ids": ["l"],
      "properties": {"prompt": "You write."}
    },
    "l": {
      "type": "loop",
      "next_ids": ["a", "e"],
      "properties": {
        "max_rounds": 3
      }
    },
    "e": {
      "type": "end"
    }
  }
}
"""
BROKEN: dict[str, tuple[str, tuple[str, str], list[int]]] = {
    "chatdev: syntax": ("chatdev", ("id: g", "id: [g"), [10]),
    "chatdev: a tab": ("chatdev", ("      config:\n", "\tconfig:\n"), [11]),
    "chatdev: an unknown type": ("chatdev", ("loop_counter", "loop_conter"), [10]),
    "chatdev: an edge to nowhere": ("chatdev", ("to: z", "to: y"), [22]),
    "chatdev: an edge from nowhere": ("chatdev", ("from: w", "from: v"), [17]),
    "chatdev: a wrong type": ("chatdev", ("max_iterations: 2", "max_iterations: two"), [12]),
    "chatdev: a number too small": ("chatdev", ("max_iterations: 2", "max_iterations: 0"), [12]),
    "chatdev: a node without an id": (
        "chatdev",
        ("- id: g\n      type", "- type"),
        [9, 17, 18, 20],
    ),
    "chatdev: an edge without an end": (
        "chatdev",
        ("    - from: g\n      to: w", "    - to: w"),
        [19],
    ),
    "chatdev: no config": ("chatdev", ("      config:\n        max_iterations: 2\n", ""), [9]),
    "chatdev: no start": ("chatdev", ("  start: [w]\n", ""), [1]),
    "chatdev: an unknown start": ("chatdev", ("start: [w]", "start: [x]"), [3]),
    "chatdev: an id twice": ("chatdev", ("id: z", "id: w"), [4, 13, 22]),
    "chatdev: a key twice": ("chatdev", ("  id: review", "  id: review\n  id: again"), [3]),
    "chatdev: an unknown condition": ("chatdev", ("type: keyword", "type: keywrd"), [24]),
    "chatdev: nodes are no list": ("chatdev", ("    - id: w", "      id: w"), [9]),
    "council: syntax": ("council", ('"next_ids": ["a"]', '"next_ids": ["a"'), [7]),
    "council: an unknown type": ("council", ('"type": "loop"', '"type": "lop"'), [14]),
    "council: a node that is not there": ("council", ('["a", "e"]', '["a", "x"]'), [15]),
    "council: a wrong type": ("council", ('"max_rounds": 3', '"max_rounds": "many"'), [17]),
    "council: a node without a type": ("council", ('"type": "end"', '"name": "end"'), [20]),
    "council: no start": ("council", ('  "start_node_id": "s",\n', ""), [1]),
    "council: an unknown start": ("council", ('"start_node_id": "s"', '"start_node_id": "x"'), [2]),
    "council: an id twice": ("council", ('"e": {', '"l": {'), [1, 15, 20]),
    "council: next_ids are no list": ("council", ('["l"]', '"l"'), [10]),
    "council: properties are no mapping": ("council", ('{"prompt": "You write."}', "3"), [11]),
    "council: a node is no mapping": ("council", ('{\n      "type": "end"\n    }', "3"), [20]),
}
TEXTS = {"chatdev": CHATDEV, "council": COUNCIL}


def _commands(file: Path, format_: str) -> list[tuple[Any, ...]]:
    return [
        ("import", file, "--from", format_),
        ("check", file, "--compat", format_),
        ("run", file, "--compat", format_, "-i", "x"),
    ]


def _lines(ran: Ran, file: Path) -> list[int]:
    """The line numbers of the errors; each error is one line that begins with its place."""
    told = ran.err.splitlines()
    assert all(line.startswith(f"error: {file}:") for line in told), ran.err
    numbers = [line.removeprefix(f"error: {file}:").split()[0] for line in told]
    return [int(number.rstrip(":")) for number in numbers]


@pytest.mark.parametrize(("format_", "change", "expected"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_answered_with_its_own_lines(
    format_: str,
    change: tuple[str, str],
    expected: list[int],
    tmp_path: Path,
    call: Callable[..., Ran],
) -> None:
    text = TEXTS[format_]
    assert change[0] in text
    file = tmp_path / f"broken.{'yaml' if format_ == 'chatdev' else 'json'}"
    file.write_text(text.replace(*change, 1), "utf-8")
    for command in _commands(file, format_):
        ran = call(*command)
        assert (ran.code, ran.out) == (2, "")
        assert _lines(ran, file) == expected, ran.err


@pytest.mark.parametrize("format_", ["chatdev", "council"])
@pytest.mark.parametrize("text", ["", "# nothing\n", "[1, 2]\n", "text\n", "3"])
def test_a_file_without_a_graph_is_answered_in_one_line(
    text: str, format_: str, tmp_path: Path, call: Callable[..., Ran]
) -> None:
    file = tmp_path / "none.yaml"
    file.write_text(text)
    for command in _commands(file, format_):
        ran = call(*command)
        assert (ran.code, ran.out, _lines(ran, file)) == (2, "", [1])


def test_chatdevs_graphs_in_json_and_councils_in_yaml_have_their_lines_too(
    tmp_path: Path, call: Callable[..., Ran]
) -> None:
    wrong = {
        "chatdev": CHATDEV.replace("loop_counter", "loop_conter"),
        "council": COUNCIL.replace('"loop"', '"loop_conter"'),
    }
    for format_, text in wrong.items():
        document = yaml.safe_load(text)
        other = yaml.safe_dump(document) if format_ == "council" else json.dumps(document, indent=2)
        line = next(n for n, part in enumerate(other.splitlines(), 1) if "conter" in part)
        file = tmp_path / "broken"
        file.write_text(other)
        for command in _commands(file, format_):
            ran = call(*command)
            assert (ran.code, _lines(ran, file)) == (2, [line])


@pytest.mark.parametrize("format_", ["chatdev", "council"])
def test_a_huge_file_is_refused_before_it_is_read(
    format_: str, tmp_path: Path, call: Callable[..., Ran]
) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    for command in _commands(file, format_):
        ran = call(*command)
        assert (ran.code, _lines(ran, file)) == (2, [1])
        assert "a graph file may have 16 MiB" in ran.err


@pytest.mark.parametrize("format_", ["chatdev", "council"])
def test_a_file_that_cannot_be_read_is_answered_in_one_line(
    format_: str, tmp_path: Path, call: Callable[..., Ran]
) -> None:
    for file, reason in ((tmp_path / "none.yaml", "exist"), (tmp_path, "directory")):
        for command in _commands(file, format_):
            ran = call(*command)
            assert (ran.code, len(ran.err.splitlines())) == (2, 1)
            assert ran.err.startswith(f"error: {file}: ")
            assert reason in ran.err.lower()


def test_what_is_wrong_in_a_subgraphs_file_has_the_lines_of_that_file(
    tmp_path: Path, call: Callable[..., Ran]
) -> None:
    inner, outer = tmp_path / "inner.yaml", tmp_path / "outer.yaml"
    inner.write_text(CHATDEV.replace("max_iterations: 2", "max_iterations: 0"))
    outer.write_text(
        "graph:\n  id: o\n  start: [s]\n  nodes:\n"
        "    - {id: s, type: subgraph, config: {type: file, config: {path: inner.yaml}}}\n"
    )
    for command in _commands(outer, "chatdev"):
        ran = call(*command)
        assert (ran.code, _lines(ran, inner)) == (2, [12])


def test_a_broken_native_file_is_not_exported(tmp_path: Path, call: Callable[..., Ran]) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(CHATDEV.replace("max_iterations: 2", "max_iterations: 0"))
    ran = call("import", file, "--to", "chatdev")
    assert (ran.code, ran.out, _lines(ran, file)) == (2, "", [12])
