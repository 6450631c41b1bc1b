"""ChatDev's YAML: what is mapped, what is left out with a warning, what is refused by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, GraphError
from rondel.errors import CallError
from rondel.formats import translator
from rondel.graph.positions import parse

PLAIN = """\
graph:
  id: plain
  start: [a]
  nodes:
    - {id: a, type: literal, config: {content: one two}}
    - {id: b, type: passthrough, config: {}}
  edges:
    - {from: a, to: b%s}
"""


def _translated(text: str) -> Any:
    return translator("chatdev")(parse(text), "").data


def _run(text: str, task: str = "x") -> Any:
    return asyncio.run(Engine(db=None).run(Graph.loads(text, compat="chatdev"), task))


def _refused(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, compat="chatdev")
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_an_unknown_key_is_ignored_with_a_warning_on_its_line() -> None:
    text = PLAIN.replace("  start: [a]\n", "  start: [a]\n  colour: blue\n") % ", loud: true"
    graph = Graph.loads(text, compat="chatdev")
    told = [(warning.line, warning.path) for warning in graph.warnings]
    assert told == [(4, "graph.colour"), (9, "graph.edges[0].loud")]


def test_a_later_edge_replaces_the_earlier_one_in_its_place() -> None:
    text = (
        PLAIN % "" + "    - {from: a, to: b, condition: {type: keyword, config: {any: [three]}}}\n"
    )
    graph = Graph.loads(text, compat="chatdev")
    assert len(graph.spec.edges) == 1
    assert "line 8" in graph.warnings[0].message
    assert _run(text).output == ""


def test_a_run_without_any_output_is_completed_with_an_empty_text() -> None:
    text = PLAIN % ", condition: always_false"
    result = _run(text.replace("start: [a]", "start: [a]\n  end: [b]"))
    assert (result.status, result.output) == ("completed", "")


def test_a_loop_that_nobody_ends_stops_after_a_hundred_rounds_and_hands_on_nothing() -> None:
    text = """\
graph:
  id: endless
  start: [a]
  end: [c]
  nodes:
    - {id: a, type: passthrough, config: {}}
    - {id: b, type: passthrough, config: {}}
    - {id: c, type: passthrough, config: {}}
  edges:
    - {from: a, to: b}
    - {from: b, to: a}
    - {from: b, to: c, condition: {type: keyword, config: {any: [never]}}}
"""
    result = _run(text)
    assert (result.status, result.output) == ("completed", "")
    loop = result.loops[0]
    assert (loop.rounds, loop.exit_reason, loop.bounded) == (100, "max_rounds_reached", False)


@pytest.mark.parametrize(
    ("process", "output"),
    [
        ("{pattern: '(o)n(e)'}", "one"),
        ("{pattern: '(o)n(e)', group: '2'}", "e"),
        ("{pattern: 'ONE.t', case_sensitive: false, dotall: true}", "one t"),
    ],
)
def test_regex_extract_takes_the_whole_match_unless_told(process: str, output: str) -> None:
    text = PLAIN % f", process: {{type: regex_extract, config: {process}}}"
    assert _run(text).output == output


@pytest.mark.parametrize(
    ("split", "parts"),
    [
        ("{type: regex, config: {pattern: '(o)\\w*'}}", ["one", "o"]),
        ("{type: regex, config: {pattern: '(o)\\w*', group: 1}}", ["o", "o"]),
        ("{type: regex, config: {pattern: 'none of it'}}", ["one two"]),
        ("{type: regex, pattern: '\\w+'}", ["one", "two"]),
        ("{type: message}", ["one two"]),
    ],
)
def test_a_dynamic_edge_splits_as_there(split: str, parts: list[str]) -> None:
    graph = Graph.loads(PLAIN % f", dynamic: {{type: map, split: {split}}}", compat="chatdev")

    async def run() -> list[Any]:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "x")
            await session.settled()
            return session.steps()

    step = next(s for s in asyncio.run(run()) if s.node_id == "b")
    assert [message["content"] for message in step.outputs] == parts


AGENT = """\
graph:
  id: one
  start: [a]
  nodes:
    - id: a
      type: agent
      config:
        name: gpt-4o
        provider: gemini
        %s
"""


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("thinking: {type: chain, config: {}}", "thinking of type 'chain'"),
        ("thinking: {type: reflection, config: {}}", "reflection_prompt"),
        ("memories: [{name: notes}]", "no memory 'notes'"),
        ("tooling: {type: function, config: {tools: [{name: 'files:All'}]}}", "files:All"),
        ("tooling: {type: magic}", "'magic'"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(field: str, message: str) -> None:
    [(line, said)] = _refused(AGENT % field)
    assert line == 10
    assert message in said


def test_tools_and_retries_of_an_agent_are_mapped() -> None:
    remote = "{type: mcp_remote, config: {server: 'http://localhost:1/mcp', timeout: 5}}"
    local = "{type: mcp_local, config: {command: uvx, args: [tool]}}"
    retry = "retry: {max_attempts: 2, min_wait_seconds: 3}"
    text = AGENT % f"tooling: [{remote}, {local}]\n        {retry}"
    [node] = _translated(text)["graph"]["nodes"]
    assert node["config"]["provider"] == "gemini"
    assert node["retry"] == {"max_attempts": 2, "min_wait": 3, "max_wait": 6.0}
    assert node["config"]["tools"] == [
        {"mcp": {"url": "http://localhost:1/mcp"}, "timeout": 5},
        {"mcp": {"command": "uvx", "args": ["tool"], "inherit_env": True}},
    ]


def test_a_wrong_retry_has_the_line_it_has_in_the_foreign_file() -> None:
    text = AGENT % "retry: {enabled: true,\n          max_attempts: none}"
    assert [line for line, _ in _refused(text)] == [11]


def test_a_python_node_runs_the_code_in_its_message() -> None:
    text = PLAIN.replace("passthrough, config: {}", "python, config: {timeout_seconds: 20}")
    code = "Here:\\n```python\\nprint(6 * 7)\\n```\\n"
    text = text.replace("content: one two", f'content: "{code}"') % ""

    async def run(source: str) -> Any:
        graph = Graph.loads(source, compat="chatdev")
        async with Engine(db=None, allow_python=True) as engine:
            return await engine.run(graph, "x")

    assert asyncio.run(run(text)).output == "42\n"
    broken = asyncio.run(run(text.replace("6 * 7", "6 / 0")))
    assert broken.output.startswith("==CODE EXECUTION FAILED==")
    assert "ZeroDivisionError" in broken.output


def test_state_inside_a_subgraph_starts_anew_at_each_call(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(
        "graph: {id: inner, start: [n], end: [n], nodes: [{id: n, type: loop_counter,"
        " config: {max_iterations: 2}}], edges: []}"
    )
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        """\
graph:
  id: outer
  start: [a]
  end: [s]
  nodes:
    - {id: a, type: passthrough, config: {}}
    - {id: s, type: subgraph, config: {type: file, config: {path: inner.yaml}}}
    - {id: g, type: loop_counter, config: {max_iterations: 3}}
    - {id: z, type: passthrough, config: {}}
  edges:
    - {from: a, to: s}
    - {from: s, to: a}
    - {from: s, to: g}
    - {from: g, to: a}
    - {from: g, to: z}
"""
    )
    graph = Graph.load(outer, compat="chatdev")
    result = asyncio.run(Engine(db=None).run(graph, "x"))
    assert (result.status, result.output) == ("completed", "")


def test_a_compat_session_goes_on_in_another_process_by_the_same_rules(tmp_path: Path) -> None:
    text = """\
graph:
  id: review
  start: [w]
  end: [z]
  nodes:
    - {id: w, type: passthrough, config: {}}
    - {id: r, type: human, config: {description: Well?}}
    - {id: g, type: loop_counter, config: {max_iterations: 2}}
    - {id: z, type: passthrough, config: {}}
  edges:
    - {from: w, to: r}
    - {from: r, to: w}
    - {from: r, to: g}
    - {from: g, to: w}
    - {from: g, to: z}
"""
    db = str(tmp_path / "s.db")

    async def start() -> str:
        async with Engine(db=db) as engine:
            session = await engine.start(Graph.loads(text, compat="chatdev"), "x")
            await session.settled()
            return session.id

    async def answer(id: str) -> Any:
        async with Engine(db=db) as engine:
            session = engine.get(id)
            await session.answer("no")
            result = await session.settled()
            return result, [step.node_id for step in session.steps()]

    id = asyncio.run(start())
    asyncio.run(answer(id))
    result, nodes = asyncio.run(answer(id))
    assert (result.status, result.output) == ("completed", "Loop limit reached (2)")
    assert nodes.count("w") == 2, "the loop ended at once, without a last run of its head"


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(CallError, match="there is no format 'chat'; did you mean 'chatdev'"):
        Graph.loads("graph: {}", compat="chat")
