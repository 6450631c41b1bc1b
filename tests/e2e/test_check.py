"""`rondel check`: the loops of a graph and where their bounds come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e import graphs
from tests.e2e.command import ROOT, Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]


def test_check_lists_nested_loops_with_their_bounds(call: Call) -> None:
    file = ROOT / "examples/04_nested_loops/graph.yaml"
    found = json.loads(call("check", file, "--json", "--strict").out)
    assert found == {
        "valid": True,
        "errors": [],
        "warnings": [],
        "loops": [
            {
                "head": "Outline",
                "nodes": ["Outline", "Draft", "Polish", "Twice", "Editor", "Good enough"],
                "parent": None,
                "max_rounds": 4,
                "source": "contract",
            },
            {
                "head": "Draft",
                "nodes": ["Draft", "Polish", "Twice"],
                "parent": "Outline",
                "max_rounds": 3,
                "source": "contract",
            },
        ],
    }


def test_strict_refuses_the_default_cap(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.LOOP)
    assert call("check", file).code == 0
    ran = call("check", file, "--strict")
    assert ran.code == 2
    assert ran.err == (
        f"error: {file} graph.loops: only the default cap of 100 rounds bounds the loop 'Writer'; "
        "add Writer: {max_rounds: ...} to the 'loops' of the graph\n"
    )
    found = json.loads(call("check", file, "--strict", "--json").out)
    assert found["valid"] is False
    assert [(loop["max_rounds"], loop["source"]) for loop in found["loops"]] == [(100, "default")]


def test_warnings_do_not_make_a_graph_wrong(call: Call, graph_file: Write) -> None:
    text = """
graph:
  id: g
  start: A
  nodes:
    - {id: A, type: passthrough}
    - {id: Island, type: passthrough}
"""
    file = graph_file(text)
    ran = call("check", file)
    assert ran.code == 0
    assert ran.err.startswith(f"warning: {file}:7 graph.nodes[1]: nothing can reach")
    found = json.loads(call("check", file, "--json").out)
    assert found["valid"] is True
    assert [warning["line"] for warning in found["warnings"]] == [7]
    changed = call("run", file, "-i", "tea", "--set", "graph.id=h")
    assert changed.code == 0
    assert changed.err == ran.err


def test_a_graph_that_is_right_says_so(call: Call, graph_file: Write) -> None:
    ran = call("check", graph_file(graphs.HUMAN))
    assert ran.code == 0
    assert "valid; 2 nodes, 1 edge, 0 loops, at most 10,000 steps" in ran.out
