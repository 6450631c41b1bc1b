"""What newcomers write before they have read anything, and the line that leads them on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import Ran

Call = Callable[..., Ran]
Write = Callable[..., Path]

LOOP = """\
graph:
  id: essay
  start: writer
  loops: {writer: {max_rounds: 3, exit_on_score: 90}}
  nodes:
    - {id: writer, type: agent, config: {provider: scripted, answers: [a, b, c]}}
    - {id: critic, type: agent, config: {provider: scripted, answers: ["good, nine of ten"]}}
    - {id: done, type: passthrough}
  edges:
    - {from: writer, to: critic}
    - {from: critic, to: writer}
    - {from: critic, to: done, condition: false}
"""
DICT = "{provider: scripted, answers: [a, b, c]}"
WRONG = {
    "settings beside the config": (
        f"config: {DICT}",
        f"prompt: You write., model: gpt-4o, config: {DICT}",
        [
            "unknown key 'prompt'; put it under 'config', where it is called 'role'",
            "unknown key 'model'; put it under 'config', where it is called 'name'",
        ],
    ),
    "a setting of its own name beside the config": (
        f"config: {DICT}",
        f"role: You write., config: {DICT}",
        ["unknown key 'role'; put it under 'config'"],
    ),
    "names of other systems": (
        DICT,
        "{provider: openai, model: gpt-4o, system: You write., temperature: 1}",
        [
            "unknown key 'model'; it is called 'name' here",
            "unknown key 'system'; it is called 'role' here",
            "unknown key 'temperature'; it is called 'params.temperature' here",
        ],
    ),
    "an arrow": (
        "{from: writer, to: critic}",
        "writer -> critic",
        ["must be a mapping with 'from' and 'to'; write it as {from: writer, to: critic}"],
    ),
    "a pair": ("{from: writer, to: critic}", "[writer, critic]", ["{from: writer, to: critic}"]),
    "an expression alone": (
        "condition: false",
        'condition: "data.score >= 90"',
        ['write it as {type: expr, config: {expr: "data.score >= 90"}}'],
    ),
    "source, target and when": (
        "{from: critic, to: done, condition: false}",
        "{source: critic, target: done, when: false}",
        [
            "unknown key 'source'; it is called 'from' here",
            "unknown key 'target'; it is called 'to' here",
            "unknown key 'when'; it is called 'condition' here",
        ],
    ),
    "keys of a contract": (
        "max_rounds: 3, exit_on_score: 90",
        "max_iterations: 3, threshold: 90",
        [
            "unknown key 'max_iterations'; it is called 'max_rounds' here",
            "unknown key 'threshold'; it is called 'exit_on_score' here",
        ],
    ),
    "no way out": (
        "    - {from: critic, to: done, condition: false}\n",
        "    - {from: done, to: writer}\n",
        ["name its end node, as in end: [writer], or lead an edge out of it to a new node"],
    ),
    "a mapping of nodes": (
        LOOP[LOOP.index("  nodes:") : LOOP.index("  edges:")],
        "  nodes: {writer: {type: agent}, critic: {type: agent}}\n",
        ["'nodes' must be a list, not a mapping; write it as [first, second]"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_message_says_what_to_write(name: str, call: Call, graph_file: Write) -> None:
    right, wrong, told = WRONG[name]
    assert right in LOOP
    ran = call("check", graph_file(LOOP.replace(right, wrong, 1)))
    assert ran.code == 2
    for line in told:
        assert line in ran.err
    assert "ChatDev" not in ran.err
    assert "there are: none" not in ran.err


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("llm", "agent"),
        ("llm_node", "agent"),
        ("GPT", "agent"),
        ("prompt", "agent"),
        ("start", "passthrough"),
        ("end", "passthrough"),
        ("output", "passthrough"),
        ("text", "literal"),
        ("code", "python"),
        ("tool", "function"),
        ("user", "human"),
        ("workflow", "subgraph"),
        ("while", "loop"),
    ],
)
def test_a_type_of_other_systems_is_answered_with_the_one_meant(
    wrong: str, meant: str, call: Call, graph_file: Write
) -> None:
    ran = call("check", graph_file(LOOP.replace("type: passthrough", f"type: {wrong}")))
    assert f"there is no node type '{wrong}'; it is called '{meant}' here" in ran.err


def test_the_first_of_two_ids_is_found_where_it_stands(call: Call, graph_file: Write) -> None:
    file = graph_file(LOOP.replace("id: critic", "id: writer"))
    told = "the id 'writer' is taken already, by graph.nodes[0] on line 6"
    for command in ("check", "simulate"):
        assert told in call(command, file).err


def test_a_python_node_without_code_is_told_what_is_missing(call: Call, graph_file: Write) -> None:
    ran = call("check", graph_file(LOOP.replace("type: passthrough", "type: python")))
    told = "the key 'code' is missing; write the Python to run, or set runs: message"
    assert told in ran.err


def test_what_simulate_finds_stands_in_the_order_of_the_file(call: Call, graph_file: Write) -> None:
    text = LOOP.replace("start: writer", "start: writr").replace("to: critic}", "to: critc}")
    errors = call("check", graph_file(text)).err.splitlines()
    assert len(errors) == 2
    assert call("simulate", graph_file(text), "-n", "2").err.splitlines() == errors


def test_a_score_that_nobody_can_read_is_told_with_how_to_write_it(
    call: Call, graph_file: Write
) -> None:
    file = graph_file(LOOP)
    assert "let an agent of the loop end with 'Score: N'" in call("check", file).err
    assert "looked at data.score and for 'Score: N' or JSON" in call("run", file, "-i", "x").out


def test_a_simulation_that_fails_says_of_what(call: Call, graph_file: Write) -> None:
    wanted = "condition: {type: expr, config: {expr: data.quality > 8}}"
    file = graph_file(LOOP.replace("condition: false", wanted))
    ran = call("simulate", file, "-n", "3")
    assert "failed    writer[1]/critic: the condition of the edge critic -> done" in ran.out
    assert "data has no 'quality'" in ran.out
    assert len(call("simulate", file, "-n", "3", "--json").document["failures"]) == 3


HEAD = "from rondel import Graph\ngraph = Graph('essay')\n\n\n@graph.node\n"
REST = """
@graph.node
def critic(inp):
    return "Score: 50"


@graph.node
def done(inp):
    return inp.text


graph.edge(writer, critic)
graph.edge(critic, writer, when=lambda message: message.data["score"] < 90)
graph.edge(critic, done, when="data.score >= 90")
graph.loop(writer, max_rounds=3)
"""


def test_nodes_may_be_named_by_their_functions(call: Call, graph_file: Write) -> None:
    file = graph_file(f"{HEAD}def writer(inp):\n    return 'x'\n\n{REST}", "essay.py")
    assert "3 nodes, 3 edges, 1 loop" in call("check", file).out
    ran = call("run", file, "-i", "tea", "--db", ":memory:")
    assert "KeyError: 'score'; the data of this message has no keys" in ran.err


def test_a_function_without_an_input_is_told_where_it_stands(call: Call, graph_file: Write) -> None:
    ran = call("check", graph_file(f"{HEAD}def writer():\n    return 'x'\n\n{REST}", "essay.py"))
    assert ran.code == 2
    assert "essay.py:5: the function 'writer' of a node must take one argument" in ran.err
    assert "write it as writer(inp)" in ran.err
