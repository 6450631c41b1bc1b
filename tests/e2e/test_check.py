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
                "worst_case": {
                    "rounds": 4,
                    "steps": 36,
                    "model_calls": 24,
                    "tokens": None,
                    "usd": None,
                },
                "each_continue": None,
            },
            {
                "head": "Draft",
                "nodes": ["Draft", "Polish", "Twice"],
                "parent": "Outline",
                "max_rounds": 2,
                "source": "loop node 'Twice'",
                "worst_case": {
                    "rounds": 8,
                    "steps": 24,
                    "model_calls": 16,
                    "tokens": None,
                    "usd": None,
                },
                "each_continue": None,
            },
        ],
        "worst_case": {"steps": 37, "model_calls": 24, "tokens": None, "usd": None},
        "unbounded": [
            "tokens and cost are unbounded: Outline, Draft, Polish, Editor: simulated text has no "
            "fixed length"
        ],
        "starts": [],
    }


def test_a_wrong_graph_has_the_same_fields(call: Call, graph_file: Write) -> None:
    ran = call("check", graph_file("graph: {id: g, nodes: [{id: a, type: agnet}]}"), "--json")
    assert ran.code == 2
    found = json.loads(ran.out)
    assert found.keys() == {
        "valid",
        "errors",
        "warnings",
        "loops",
        "worst_case",
        "unbounded",
        "starts",
    }
    assert (found["valid"], found["loops"], found["worst_case"]) == (False, [], None)
    assert found["errors"][0].keys() == {"file", "line", "path", "message", "hint"}


def test_strict_refuses_the_default_cap(call: Call, graph_file: Write) -> None:
    file = graph_file(graphs.LOOP.replace("max_rounds: 3", "max_rounds: 300"))
    assert call("check", file).code == 0
    ran = call("check", file, "--strict")
    assert ran.code == 2
    assert ran.err.startswith(
        f"error: {file} graph.loops: only the default cap of 100 rounds bounds the loop 'Writer'; "
        "add Writer: {max_rounds: ...} to the 'loops' of the graph\n"
    )
    found = json.loads(call("check", file, "--strict", "--json").out)
    assert found["valid"] is False
    assert [(loop["max_rounds"], loop["source"]) for loop in found["loops"]] == [(100, "default")]
    assert call("check", graph_file(graphs.LOOP), "--strict").code == 0


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
    assert "valid; 2 nodes, 1 edge, 0 loops\n" in ran.out
    assert "a run takes at most: steps 2, model calls 0, tokens 0, cost $0.0000\n" in ran.out


def test_people_see_a_table_of_loops(call: Call, graph_file: Write) -> None:
    ran = call("check", graph_file(graphs.LOOP))
    assert (ran.code, ran.err) == (0, "")
    _, worst, why, _, header, row = ran.out.splitlines()
    assert why == ("tokens and cost are unbounded: Critic: simulated text has no fixed length")
    assert worst == "a run takes at most: steps 10, model calls 6, tokens unbounded, cost unbounded"
    assert header.split() == [
        "LOOP",
        "INSIDE",
        "ROUNDS",
        "BOUND",
        "BY",
        "TOTAL",
        "STEPS",
        "CALLS",
        "TOKENS",
        "COST",
    ]
    assert row.split() == [
        "Writer",
        "-",
        "3",
        "loop",
        "node",
        "'Gate'",
        "3",
        "9",
        "6",
        "unbounded",
        "unbounded",
    ]


def test_lints_are_warnings_with_their_lines(call: Call, graph_file: Write) -> None:
    text = graphs.LOOP + "    - {from: Critic, to: Final}\n"
    file = graph_file(text)
    ran = call("check", file)
    assert ran.code == 0
    assert ran.err == (
        f"warning: {file}:{len(text.splitlines())} graph.edges[5]: whenever Critic -> Gate fires, "
        "Critic -> Final does too, and ends the loop 'Writer' [fires_together]; give them "
        "conditions that exclude each other, or set trigger: false on the one out\n"
    )
    (warning,) = json.loads(call("check", file, "--json").out)["warnings"]
    assert warning.keys() == {"file", "line", "path", "message", "hint"}
    assert warning["line"] == len(text.splitlines())


def test_check_draws_the_graph(call: Call, graph_file: Write, tmp_path: Path) -> None:
    file = graph_file(graphs.LOOP)
    for name, start in (("out.svg", "<svg "), ("out.mmd", "flowchart TD")):
        assert call("check", file, "--graph", tmp_path / name).code == 0
        drawn = (tmp_path / name).read_text("utf-8")
        assert drawn.startswith(start)
        assert "Writer: at most 3 rounds" in drawn


def test_a_drawing_of_another_kind_is_refused_in_one_line(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    out = tmp_path / "out.pdf"
    ran = call("check", graph_file(graphs.LOOP), "--graph", out)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: --graph {out}: a drawing is a .svg or a .mmd (Mermaid) file\n"
    assert not out.exists()
    ran = call("check", graph_file(graphs.LOOP), "--graph", tmp_path / "no" / "out.svg")
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_a_plot_that_cannot_be_written_is_told_in_one_line(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    out = tmp_path / "no" / "out.svg"
    ran = call("simulate", graph_file(graphs.LOOP), "-n", "1", "--plot", out)
    told = f"error: --plot {out}: cannot be written: No such file or directory\n"
    assert (ran.code, ran.err) == (2, told)


def test_what_a_person_may_add_is_told_beside_what_is_certain(
    call: Call, graph_file: Write
) -> None:
    text = """
graph:
  id: g
  start: A
  loops:
    A: {max_rounds: 5, budget: {tokens: 300}, on_limit: human}
  nodes:
    - id: A
      type: agent
      config:
        provider: scripted
        answers: [{content: a, usage: {input_tokens: 60, output_tokens: 40}}]
    - {id: B, type: passthrough}
  edges:
    - {from: A, to: A}
    - {from: A, to: B, condition: false}
"""
    file = graph_file(text)
    (loop,) = json.loads(call("check", file, "--json").out)["loops"]
    more = {"rounds": 5, "steps": 5, "model_calls": 5, "tokens": 400, "usd": 0.0}
    assert loop["each_continue"] == loop["worst_case"] == more
    assert (
        "A: a person is asked at its limit; all figures are up to that question, and each "
        '"continue" without a number adds at most 5 rounds, 5 calls, 400 tokens, $0.0000\n'
    ) in call("check", file).out
