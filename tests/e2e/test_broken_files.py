"""A file that is wrong never runs: exit code 2, a line per error, each with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import Ran, rondel

Call = Callable[..., Ran]
Write = Callable[..., Path]

BROKEN = {
    "empty": ("", ["FILE:1: the file is empty"]),
    "not YAML": ("graph: {id: [a}\n", ["FILE:1"]),
    "unknown key": (
        "graph:\n  id: g\n  nods: []\n  nodes: [{id: A, type: passthrough}]\n",
        ["FILE:3 graph.nods: unknown key 'nods'; did you mean 'nodes'?"],
    ),
    "unknown node type": (
        "graph:\n  id: g\n  nodes:\n    - {id: A, type: pasthrough}\n",
        ["FILE:4 graph.nodes[0].type: ", "did you mean 'passthrough'?"],
    ),
    "dangling edge": (
        "graph:\n  id: g\n  nodes: [{id: Alpha, type: passthrough}]\n"
        "  edges:\n    - {from: Alpha, to: Alhpa}\n",
        ["FILE:5 graph.edges[0].to: there is no node 'Alhpa'; did you mean 'Alpha'?"],
    ),
    "duplicate id": (
        "graph:\n  id: g\n  nodes:\n    - {id: A, type: passthrough}\n"
        "    - {id: A, type: passthrough}\n",
        ["FILE:5 graph.nodes[1].id: "],
    ),
    "bad value": (
        "graph:\n  id: g\n  nodes:\n    - id: A\n      type: loop_counter\n"
        "      config: {max_iterations: 0}\n",
        ["FILE:6 graph.nodes[0].config.max_iterations: "],
    ),
    "unset variable": (
        "graph:\n  id: g\n  nodes:\n    - {id: A, type: literal, config: {content: '${NOPE_X}'}}\n",
        ["FILE:4 ", "'NOPE_X' is not set"],
    ),
    "bad expression": (
        "graph:\n  id: g\n  nodes: [{id: A, type: passthrough}, {id: B, type: passthrough}]\n"
        "  edges:\n    - {from: A, to: B, condition: {type: expr, config: {expr: 'data.x >'}}}\n",
        ["FILE:5 graph.edges[0].condition.config.expr: "],
    ),
    "contract without a loop": (
        "graph:\n  id: g\n  loops: {A: {max_rounds: 2}}\n  nodes: [{id: A, type: passthrough}]\n",
        ["FILE:3 graph.loops.A: 'A' heads no loop; this graph has no loop"],
    ),
    "no such file inside": (
        "graph:\n  id: g\n  nodes:\n    - {id: A, type: subgraph, config: {file: gone.yaml}}\n",
        ["FILE:4 graph.nodes[0].config.file: the file 'gone.yaml' does not exist"],
    ),
    "four at once": (
        "version: 2\ngraph:\n  id: g\n  start: Q\n  end: A\n  nodes:\n    - {id: A, type: nope}\n"
        "  edges:\n    - {from: A, to: B}\n",
        ["FILE:1 version: ", "FILE:4 graph.start: ", "FILE:7 graph.nodes[0].type: ", "FILE:9 "],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_with_its_places(name: str, call: Call, graph_file: Write) -> None:
    text, parts = BROKEN[name]
    file = graph_file(text)
    ran = call("run", file)
    assert (ran.code, ran.out) == (2, "")
    for part in parts:
        assert part.replace("FILE", str(file)) in ran.err
    assert all(line.startswith("error: ") for line in ran.err.splitlines())
    assert "Traceback" not in ran.err
    checked = call("check", file)
    assert (checked.code, checked.out, checked.err) == (2, "", ran.err)


def test_check_finds_as_json_what_run_finds(call: Call, graph_file: Write) -> None:
    file = graph_file(BROKEN["four at once"][0])
    ran = call("check", file, "--json")
    found = json.loads(ran.out)
    assert (ran.code, ran.err) == (2, "")
    assert found["valid"] is False
    assert found["loops"] == []
    assert [error["line"] for error in found["errors"]] == [1, 4, 7, 9]
    assert all(error["file"] == str(file) and error["message"] for error in found["errors"])
    assert found["errors"][0].keys() == {"file", "line", "path", "message", "hint"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import rondel\n\nnope()\n", "FILE:3: NameError: name 'nope' is not defined"),
        ("def\n", "FILE:1: SyntaxError: "),
        ("x = 1\n", "FILE: there is no Graph in it; name the one to use: graph = ..."),
        (
            "from rondel import Graph\na = Graph('a')\nb = Graph('b')\n",
            "FILE: there are 2 graphs in it; name the one to use: graph = ...",
        ),
        (
            "from rondel import Graph\ngraph = Graph('g', end='a')\n"
            "@graph.node\ndef a(inp): pass\ngraph.edge('a', 'bb')\n",
            "FILE graph.edges[0].to: there is no node 'bb'",
        ),
    ],
)
def test_a_broken_python_file_is_told_too(
    text: str, message: str, call: Call, graph_file: Write
) -> None:
    file = graph_file(text, "broken.py")
    ran = call("run", file)
    assert (ran.code, ran.out) == (2, "")
    assert message.replace("FILE", str(file)) in ran.err
    assert ran.err.count("\n") == 1
    assert "Traceback" in call("run", file, "--debug").err


def test_the_real_command_leaves_with_2(graph_file: Write) -> None:
    file = graph_file(BROKEN["unknown key"][0])
    ran = rondel("run", str(file))
    assert (ran.code, ran.out) == (2, "")
    expected = f"error: {file}:3 graph.nods: unknown key 'nods'; did you mean 'nodes'?\n"
    assert ran.err == expected
