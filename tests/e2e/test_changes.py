"""What changes a graph before it runs: -i, --set and --provider."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]

ECHO = "graph: {id: echo, nodes: [{id: Echo, type: passthrough}]}"


@pytest.mark.parametrize(
    ("options", "output", "data"),
    [
        (["-i", "a = b"], "a = b", {"task": "a = b"}),
        (["-i", "Tea, hot"], "Tea, hot", {"task": "Tea, hot"}),
        (["-i", "task=x=y"], "x=y", {"task": "x=y"}),
        (
            ["-i", "tea", "-i", "n=3", "-i", "tags=[1]", "-i", "who=me"],
            "tea",
            {"task": "tea", "n": 3, "tags": [1], "who": "me"},
        ),
    ],
)
def test_inputs(
    options: list[str], output: str, data: dict[str, Any], call: Call, graph_file: Write
) -> None:
    ran = call("run", graph_file(ECHO), *options, "--json")
    assert ran.code == 0
    assert ran.result["output"] == output
    assert ran.result["data"] == data


def test_set_makes_what_is_missing_on_the_way(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOOP), "--set", "graph.limits.max_steps=4", "--json")
    assert ran.code == 1
    assert ran.result["reason"] == "max_steps_reached"


@pytest.mark.parametrize(
    "path",
    [
        "graph.nodes.Gate.config.max_rounds",
        "graph.nodes[2].config.max_rounds",
        "graph.nodes.2.config.max_rounds",
        'graph.nodes["Gate"].config.max_rounds',
    ],
)
def test_set_finds_a_node_by_its_id_or_its_place(path: str, call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(graphs.LOOP), "--set", f"{path}=1", "--json")
    assert ran.code == 3
    assert ran.result["loops"][0]["rounds"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("graph.nodes.Writr.config.role=x", "there is no node 'Writr'; did you mean 'Writer'?"),
        ("graph.nodes[9].config.role=x", "there are 4 items; count them from 0"),
        ("graph.id.x=1", "graph.id is a text; nothing is inside it"),
        ("graph.limts.max_steps=1", "graph.limts: unknown key 'limts'; did you mean 'limits'?"),
        ("graph.nodes.Gate.config.max_round=1", ":10 graph.nodes[2].config.max_round: unknown key"),
        ("graph.nodes.Gate.config.max_rounds=many", "graph.nodes[2].config.max_rounds: "),
    ],
)
def test_set_of_what_there_is_not_is_one_clear_error(
    change: str, message: str, call: Call, graph_file: Write
) -> None:
    ran = call("run", graph_file(graphs.LOOP), "--set", change)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_set_changes_a_graph_written_in_python(call: Call) -> None:
    file = Path(__file__).parents[2] / "examples/05_python_graph/graph.py"
    ran = call("run", file, "--set", "graph.loops.coder.max_rounds=2", "--json")
    assert ran.result["loops"][0]["exit_reason"] == "max_rounds_reached"
    assert ran.result["loops"][0]["rounds"] == 2


def test_set_leaves_files_beside_the_graph_in_reach(call: Call, graph_file: Write) -> None:
    graph_file("graph: {id: i, nodes: [{id: Echo, type: passthrough}]}", "parts/inner.yaml")
    outer = "graph: {id: o, nodes: [{id: S, type: subgraph, config: {file: parts/inner.yaml}}]}"
    ran = call("run", graph_file(outer), "--set", "graph.id=other", "-i", "tea", "--json")
    assert ran.code == 0, ran.err
    assert ran.result["output"] == "tea"


def test_provider_replaces_those_of_inline_graphs_and_needs_no_key(
    call: Call, graph_file: Write
) -> None:
    file = graph_file(graphs.KEYED)
    refused = call("run", file, "-i", "tea")
    assert refused.code == 2
    assert "NO_SUCH_KEY" in refused.err
    ran = call("run", file, "-i", "tea", "--provider", "simulated", "--json")
    assert (ran.code, ran.err) == (0, "")
    models = [e["data"]["model"] for e in ran.lines if e["event"] == "token_usage"]
    assert models == ["simulated"]


def test_provider_replaces_those_of_graph_files_and_drops_their_options(
    call: Call, graph_file: Write
) -> None:
    inner = "{id: A, type: agent, config: {provider: scripted, answers: [scripted words]}}"
    graph_file(f"graph: {{id: i, nodes: [{inner}]}}", "inner.yaml")
    outer = "graph: {id: o, nodes: [{id: S, type: subgraph, config: {file: inner.yaml}}]}"
    file = graph_file(outer)
    assert call("run", file, "-i", "tea", "--json").result["output"] == "scripted words"
    ran = call("run", file, "-i", "tea", "--provider", "simulated", "--json")
    assert ran.code == 0, ran.err
    assert "scripted words" not in ran.result["output"]


def test_provider_may_name_the_model_too_and_come_from_the_environment(
    call: Call, graph_file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = "{id: A, type: agent, config: {provider: scripted, answers: [scripted words]}}"
    graph_file(f"graph: {{id: i, nodes: [{inner}]}}", "inner.yaml")
    panel = "{id: V, type: vote, config: {agents: {Ann: {provider: scripted, answers: [x]}}}}"
    held = "{id: S, type: subgraph, config: {file: inner.yaml}}"
    file = graph_file(f"graph: {{id: o, nodes: [{panel}, {held}], edges: [{{from: V, to: S}}]}}")
    monkeypatch.setenv("RONDEL_PROVIDER", "simulated:llama3:8b")
    ran = call("run", file, "-i", "tea", "--json")
    assert (ran.code, ran.err) == (0, "")
    models = {e["data"]["model"] for e in ran.lines if e["event"] == "token_usage"}
    assert models == {"llama3:8b"}
    ran = call("run", file, "-i", "tea", "--provider", "simulated:other", "--json")
    assert {e["data"]["model"] for e in ran.lines if e["event"] == "token_usage"} == {"other"}


def test_an_option_of_another_provider_is_told_as_such(call: Call, graph_file: Write) -> None:
    agent = "{id: A, type: agent, config: {provider: openai, name: m, answers: [x]}}"
    ran = call("check", graph_file(f"graph: {{id: i, nodes: [{agent}]}}"))
    assert ran.code == 2
    assert "the key 'answers' does not go with the other settings here" in ran.err


def test_the_first_line_says_that_models_are_simulated(call: Call, graph_file: Write) -> None:
    text = "graph: {id: g, nodes: [{id: A, type: agent}]}"
    line = "simulated models: no key, no network; agents without a provider use them"
    file = graph_file(text)
    assert call("run", file).out.splitlines()[0] == line
    assert call("run", file, "--json").err.splitlines() == [f"note: {line}"]
    assert line not in call("run", file, "--provider", "simulated").out
