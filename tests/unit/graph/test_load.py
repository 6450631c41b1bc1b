"""A graph file becomes a graph, or all that is wrong with it at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondel.errors import GraphError, Problem
from rondel.graph.load import Loaded, from_document, loads, read
from rondel.graph.spec import ALWAYS, Call, LimitsSpec, LoopSpec, RetrySpec
from tests.counting import calls_of
from tests.unit.graph.fakes import (
    VOCABULARY,
    Function,
    Keyword,
    LoopCounter,
    Passthrough,
    RegexExtract,
)
from tests.unit.graph.texts import (
    FULL,
    INNER,
    SEED_FRAGMENT,
    SEED_REVIEW_LOOP,
    graph,
    including,
    inline,
    nodes,
)


def load(file: Path, vocabulary: Any, **settings: Any) -> Loaded:
    return loads(read(file), vocabulary, str(file), **settings)


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(GraphError) as caught:
        loads(text, VOCABULARY, "g.yaml", environ={})
    return caught.value.problems


def test_the_review_loop_of_the_seed_loads_unchanged(tmp_path: Path) -> None:
    file = write(tmp_path, "review.yaml", SEED_REVIEW_LOOP)
    loaded = load(file, VOCABULARY)
    spec = loaded.spec
    assert loaded.warnings == ()
    assert spec.id == "review_loop"
    assert [node.id for node in spec.nodes] == ["Writer", "Reviewer", "Loop Guard", "Final Output"]
    assert (spec.start, spec.end) == (("Writer",), ("Final Output",))
    assert spec.nodes[2].config.max_iterations == 3
    assert spec.edges[1].condition == Call("keyword", Keyword(any=("ACCEPT",)))
    assert spec.edges[4].condition == ALWAYS
    assert (spec.file, spec.nodes[2].line, spec.edges[0].line) == (str(file), 19, 31)


def test_the_fragment_of_the_seed_loads_with_a_warning() -> None:
    loaded = loads(SEED_FRAGMENT, VOCABULARY)
    assert (loaded.spec.start, loaded.spec.end) == (("Iteration Guard",), ("Iteration Guard",))
    assert "no 'graph:'" in loaded.warnings[0].message


def test_every_field_reaches_the_graph() -> None:
    spec = loads(FULL, VOCABULARY).spec
    first, second, third = spec.nodes
    assert (spec.start, spec.end, spec.description) == (("A",), ("C", "B"), "")
    assert spec.limits == LimitsSpec(max_steps=500)
    assert spec.loops == {"A": LoopSpec("A", 4, "now", line=10)}
    assert (first.description, first.context_window, first.timeout) == ("first", -1, 90.0)
    assert (first.retry, first.on_error, first.join) == (
        RetrySpec(3, 0.5, 120.0),
        "continue",
        "all",
    )
    assert (second.config, third.config) == (LoopCounter(max_iterations=2), Passthrough())
    assert (second.retry, second.timeout, second.join) == (RetrySpec(), None, "any")


def test_every_field_of_an_edge_reaches_the_graph() -> None:
    there, back, on = loads(FULL, VOCABULARY).spec.edges
    assert (there.source, there.target, there.label) == ("A", "B", "continue")
    assert there.condition == Call("keyword", Keyword(none=("no",)))
    assert (there.trigger, there.carry_data, there.process) == (True, True, None)
    assert (back.label, back.condition) == ("", Call("false"))
    assert (back.trigger, back.carry_data) == (False, False)
    assert (back.keep_message, back.clear_context, back.clear_kept_context) == (True, True, True)
    assert back.process == Call("regex_extract", RegexExtract(pattern="x"))
    assert on.condition == Call("function", Function(name="is_good"))


def test_text_file_and_data_give_the_same_graph(tmp_path: Path) -> None:
    document = loads(FULL, VOCABULARY).document
    as_json = write(tmp_path, "full.json", json.dumps(document, indent=2))
    plain = from_document(document, VOCABULARY).spec
    again = load(as_json, VOCABULARY).spec
    assert [node.config for node in again.nodes] == [node.config for node in plain.nodes]
    assert [edge.condition for edge in again.edges] == [edge.condition for edge in plain.edges]
    assert (plain.nodes[0].line, again.nodes[0].line) == (None, 25)


def test_start_and_end_default_to_where_no_edge_enters_and_leaves() -> None:
    text = graph(
        nodes("a", "b", "c", "d"), "[{from: a, to: b}, {from: b, to: b}, {from: d, to: b}]"
    )
    spec = loads(text, VOCABULARY).spec
    assert spec.start == ("a", "c", "d")
    assert spec.end == ("c",)


def test_empty_sections_count_as_absent() -> None:
    text = "graph:\n  id: g\n  start:\n  end: []\n  limits:\n  loops:\n  edges:\n"
    spec = loads(f"vars:\n{text}  nodes: {nodes('a')}", VOCABULARY).spec
    assert (spec.start, spec.end, spec.edges, spec.loops) == (("a",), ("a",), (), {})


def test_one_wait_moves_the_default_of_the_other() -> None:
    node = "{{id: {}, type: passthrough, retry: {{{}}}}}"
    text = graph(f"[{node.format('a', 'min_wait: 10')}, {node.format('b', 'max_wait: 0')}]")
    first, second = loads(text, VOCABULARY).spec.nodes
    assert first.retry == RetrySpec(1, 10.0, 10.0)
    assert second.retry == RetrySpec(1, 0.0, 0.0)


# What is wrong: the text, and the line, path, message and hint of the only problem.
BROKEN: dict[str, tuple[str, int, str, str, str]] = {
    "yaml syntax": (
        "graph:\n  id: a: b\n",
        2,
        "",
        "this is not valid YAML: mapping values are not allowed in this context",
        "put text that contains ': ' in quotes",
    ),
    "duplicate key": (
        "graph:\n  id: g\n  id: h\n  nodes: [{id: a, type: passthrough}]\n",
        3,
        "graph.id",
        "the key 'id' stands twice in this mapping",
        "remove one of them (the first is on line 2)",
    ),
    "unknown key": (
        "graph:\n  id: g\n  nodes:\n    - id: a\n      type: passthrough\n      confg: {}\n",
        6,
        "graph.nodes[0].confg",
        "unknown key 'confg'",
        "did you mean 'config'?",
    ),
    "unknown key far from all": (
        "graph:\n  id: g\n  limits:\n    xyz: 1\n  nodes: [{id: a, type: passthrough}]\n",
        4,
        "graph.limits.xyz",
        "unknown key 'xyz'",
        "valid: 'tokens', 'usd', 'wall_time', 'max_steps'",
    ),
    "missing key": (
        "graph:\n  nodes: [{id: a, type: passthrough}]\n",
        1,
        "graph.id",
        "the key 'id' is missing",
        "add it: the graph's name",
    ),
    "unknown node type": (
        "graph:\n  id: g\n  nodes:\n    - id: a\n      type: agnet\n",
        5,
        "graph.nodes[0].type",
        "there is no node type 'agnet'",
        "did you mean 'agent'?",
    ),
    "bad value in a config": (
        "graph:\n  id: g\n  nodes:\n    - id: a\n      type: loop_counter\n      config:\n"
        "        max_iterations: 0\n",
        7,
        "graph.nodes[0].config.max_iterations",
        "'max_iterations' must be at least 1, not 0",
        "leave it out for the default, 10",
    ),
    "missing key in a config that is missing": (
        graph("\n  - {id: b, type: passthrough}\n  - {id: a, type: literal}"),
        5,
        "graph.nodes[1].config.content",
        "the key 'content' is missing",
        "add it",
    ),
    "empty text": (
        graph("[{id: a, type: literal, config: {content: ''}}]"),
        3,
        "graph.nodes[0].config.content",
        "'content' must be text, not empty",
        "",
    ),
    "dangling edge": (
        graph(nodes("Writer", "Reviewer"), "\n  - from: Writer\n    to: Reviewr"),
        6,
        "graph.edges[0].to",
        "there is no node 'Reviewr'",
        "did you mean 'Reviewer'?",
    ),
    "dangling edge far from all": (
        graph(nodes("a", "b"), "[{from: xyz, to: a}]"),
        4,
        "graph.edges[0].from",
        "there is no node 'xyz'",
        "there are: 'a', 'b'",
    ),
    "duplicate id": (
        graph("\n  - {id: a, type: passthrough}\n  - {id: a, type: passthrough}"),
        5,
        "graph.nodes[1].id",
        "the id 'a' is taken already, by graph.nodes[0] on line 4",
        "give each node an id of its own",
    ),
    "empty id": (
        graph("[{id: ' ', type: passthrough}]"),
        3,
        "graph.nodes[0].id",
        "'id' must not be empty",
        "give the node a name",
    ),
    "id with a bracket": (
        graph("[{id: 'a[1]', type: passthrough}]"),
        3,
        "graph.nodes[0].id",
        "'id' must not contain '/', '[' or ']': addresses are written with them",
        "use '-' or '_' in their place",
    ),
    "id that is a number": (
        graph("[{id: 7, type: passthrough}]"),
        3,
        "graph.nodes[0].id",
        "'id' must be text, not 7",
        'put it in quotes: "7"',
    ),
    "unknown start": (
        graph(nodes("Writer"), rest="  start:\n  - Writer\n  - wrtier\n"),
        7,
        "graph.start[1]",
        "there is no node 'wrtier'",
        "did you mean 'Writer'?",
    ),
    "unknown end": (
        graph(nodes("Writer"), rest="  end: WRITER\n"),
        5,
        "graph.end",
        "there is no node 'WRITER'",
        "did you mean 'Writer'?",
    ),
    "no start": (
        graph(nodes("a", "b", "c"), "[{from: a, to: b}, {from: b, to: a}, {from: a, to: c}]"),
        1,
        "graph",
        "the graph has no start: an edge enters every node",
        "name its start node, as in start: [a], or lead an edge into it from a new node",
    ),
    "no end": (
        graph(nodes("a", "b", "c"), "[{from: a, to: b}, {from: b, to: c}, {from: c, to: b}]"),
        1,
        "graph",
        "the graph has no end: an edge leaves every node",
        "name its end node, as in end: [a], or lead an edge out of it to a new node",
    ),
    "no nodes": (
        graph("[]"),
        3,
        "graph.nodes",
        "'nodes' must be a list of at least 1, not an empty list",
        "add one",
    ),
    "unknown head": (
        graph(nodes("Writer"), rest="  loops:\n    Wrter: {max_rounds: 2}\n"),
        6,
        "graph.loops.Wrter",
        "there is no node 'Wrter'",
        "did you mean 'Writer'?",
    ),
    "unknown condition": (
        graph(nodes("a", "b"), "[{from: a, to: b, condition: {type: keywrd}}]"),
        4,
        "graph.edges[0].condition.type",
        "there is no condition 'keywrd'",
        "did you mean 'keyword'?",
    ),
    "condition that is a word": (
        graph(nodes("a", "b"), "[{from: a, to: b, condition: is_good}]"),
        4,
        "graph.edges[0].condition",
        "'condition' must be true, false, or a mapping with 'type' and 'config'",
        "for text that occurs in the message: {type: keyword, config: {any: [TEXT]}}",
    ),
    "unknown process": (
        graph(nodes("a", "b"), "[{from: a, to: b, process: {type: regexextract}}]"),
        4,
        "graph.edges[0].process.type",
        "there is no process 'regexextract'",
        "did you mean 'regex_extract'?",
    ),
    "word that is not one of the few": (
        graph(
            nodes("a", "b"),
            "[{from: a, to: b, process: {type: regex_extract, config: "
            "{pattern: x, on_no_match: pas}}}]",
        ),
        4,
        "graph.edges[0].process.config.on_no_match",
        "'on_no_match' must be 'pass', 'drop' or 'default', not 'pas'",
        "did you mean 'pass'?",
    ),
    "rule of a whole config": (
        graph(
            nodes("a", "b"),
            "[{from: a, to: b, process: {type: regex_extract, config: {pattern: '*'}}}]",
        ),
        4,
        "graph.edges[0].process.config",
        "a pattern cannot begin with '*'",
        "",
    ),
    "included file that is not there": (
        graph("[{id: a, type: subgraph, config: {type: file, config: {path: x.yaml}}}]"),
        3,
        "graph.nodes[0].config.config.path",
        "the file 'x.yaml' does not exist",
        "",
    ),
    "unknown function": (
        graph(
            nodes("a", "b"),
            "[{from: a, to: b, condition: {type: function, config: {name: is_god}}}]",
        ),
        4,
        "graph.edges[0].condition.config.name",
        "no function is registered as 'is_god'",
        "did you mean 'is_good'?",
    ),
    "word for a boolean": (
        graph(nodes("a", "b"), "[{from: a, to: b, trigger: yes}]"),
        4,
        "graph.edges[0].trigger",
        "'trigger' must be true or false, not 'yes'",
        "write true, without quotes",
    ),
    "edge without a target": (
        graph(nodes("a"), "[{from: a}]", "  end: a\n"),
        4,
        "graph.edges[0].to",
        "the key 'to' is missing",
        "add it: the id of the node it enters",
    ),
    "bad duration": (
        graph("[{id: a, type: passthrough, timeout: 10 minutes}]"),
        3,
        "graph.nodes[0].timeout",
        "'timeout' must be a duration",
        "write seconds, or '500ms', '90s', '10m', '2h'",
    ),
    "no time at all": (
        graph("[{id: a, type: passthrough, timeout: 0s}]"),
        3,
        "graph.nodes[0].timeout",
        "'timeout' must be longer than 0",
        "write seconds, or '500ms', '90s', '10m', '2h'",
    ),
    "waits the wrong way round": (
        graph("[{id: a, type: passthrough, retry: {min_wait: 5, max_wait: 2s}}]"),
        3,
        "graph.nodes[0].retry",
        "'retry' has a min_wait longer than its max_wait",
        "exchange the two",
    ),
    "wrong version": (
        f"version: 2\n{graph(nodes('a'))}",
        1,
        "version",
        "'version' must be 1, the only version there is",
        "leave it out for the default, 1",
    ),
    "unset variable": (
        graph("\n  - id: a\n    type: literal\n    config:\n      content: ${NOPE}"),
        7,
        "graph.nodes[0].config.content",
        "the variable 'NOPE' is not set",
        "set it under 'vars:', or store it as a secret of the server; "
        "write '$${' where '${' is meant as it stands",
    ),
    "vars that hold more than a value": (
        f"vars:\n  A: [1]\n{graph(nodes('a'))}",
        2,
        "vars.A",
        "'A' must be text, a whole number, a number or true or false, not a list of 1",
        "",
    ),
    "nested unknown key": (
        graph("[{id: a, type: agent, config: {params: {temprature: 1}}}]"),
        3,
        "graph.nodes[0].config.params.temprature",
        "unknown key 'temprature'",
        "did you mean 'temperature'?",
    ),
    "value of two possible kinds": (
        graph("[{id: a, type: agent, config: {tools: 5}}]"),
        3,
        "graph.nodes[0].config.tools",
        "'tools' must be text or a list, not 5",
        'put it in quotes: "5"',
    ),
    "empty file": ("", 1, "", "the file is empty", "begin with 'graph:'"),
    "list for a file": (
        "[graph]",
        1,
        "",
        "a graph file is a mapping of keys to values",
        "begin with 'graph:'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_problem_with_place_and_remedy(case: str, tmp_path: Path) -> None:
    text, line, path, message, hint = BROKEN[case]
    file = write(tmp_path, "broken.yaml", text)
    with pytest.raises(GraphError) as caught:
        load(file, VOCABULARY, environ={})
    assert caught.value.problems == (Problem(message, path, hint, str(file), line),)


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_lines() -> None:
    found = problems("""\
vers: 1
graph:
  id: 5
  start: [Wirter]
  loops:
    nobody: {max_rounds: 0}
  nodes:
    - id: Writer
      type: agnet
    - id: Writer
      type: loop_counter
      config: {max_iterations: many, message: "${NOPE}"}
      context_window: -2
    - just text
  edges:
    - {from: Writer, to: Nowhere, trigger: "no", label: 3}
    - {from: Writer, to: Writer, condition: {type: key, confg: {}}}
""")
    assert [(problem.line, problem.path) for problem in found] == [
        (1, "vers"),
        (3, "graph.id"),
        (4, "graph.start[0]"),
        (6, "graph.loops.nobody.max_rounds"),
        (6, "graph.loops.nobody"),
        (9, "graph.nodes[0].type"),
        (10, "graph.nodes[1].id"),
        (12, "graph.nodes[1].config.message"),
        (12, "graph.nodes[1].config.max_iterations"),
        (13, "graph.nodes[1].context_window"),
        (14, "graph.nodes[2]"),
        (16, "graph.edges[0].label"),
        (16, "graph.edges[0].trigger"),
        (16, "graph.edges[0].to"),
        (17, "graph.edges[1].condition.confg"),
        (17, "graph.edges[1].condition.type"),
    ]
    assert {problem.file for problem in found} == {"g.yaml"}


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(GraphError) as caught:
        load(tmp_path / "none.yaml", VOCABULARY)
    assert caught.value.problems[0].message == "the file does not exist"


def test_data_in_place_of_a_file_has_paths_but_no_lines() -> None:
    document = {"graph": {"id": "g", "nodes": [{"id": "a", "type": "x"}], "edges": [{1: 2}]}}
    with pytest.raises(GraphError) as caught:
        from_document(document, VOCABULARY)
    assert {(problem.file, problem.line) for problem in caught.value.problems} == {("", None)}
    assert "graph.nodes[0].type" in {problem.path for problem in caught.value.problems}


def test_a_node_that_nothing_reaches_is_a_warning() -> None:
    edges = "[{from: a, to: b}, {from: a, to: c, trigger: false}]"
    loaded = loads(graph(nodes("a", "b", "c"), edges, "  end: b\n"), VOCABULARY, "g.yaml")
    (warning,) = loaded.warnings
    assert (warning.file, warning.line, warning.path) == ("g.yaml", 3, "graph.nodes[2]")
    assert "nothing can reach the node 'c'" in warning.message
    assert "'start'" in warning.hint


def test_identical_edges_collapse_with_a_warning() -> None:
    edges = """
  - {from: a, to: b, label: x}
  - {from: a, to: b}
  - {from: a, to: b, condition: true, label: }
  - {from: a, to: b, condition: {type: keyword, config: {any: [x]}}}
"""
    loaded = loads(graph(nodes("a", "b"), edges), VOCABULARY)
    (warning,) = loaded.warnings
    assert [edge.line for edge in loaded.spec.edges] == [5, 6, 8]
    assert (warning.line, warning.path) == (7, "graph.edges[2]")
    assert "repeats graph.edges[1]" in warning.message


def test_the_document_keeps_its_variables_and_the_secrets_are_apart(tmp_path: Path) -> None:
    write(tmp_path, ".env", "KEY=sk-secret\nROUNDS=3\n")
    text = graph(
        "[{id: a, type: agent, config: {api_key: '${KEY}'}}]",
        rest="  loops: {a: {max_rounds: '${ROUNDS}'}}\n",
    )
    loaded = load(write(tmp_path, "g.yaml", text), VOCABULARY)
    assert loaded.spec.nodes[0].config.api_key == "sk-secret"
    assert loaded.spec.loops["a"].max_rounds == 3
    assert loaded.environment == {"KEY": "sk-secret", "ROUNDS": "3"}
    assert "sk-secret" not in json.dumps(loaded.document)
    assert "environment" not in repr(loaded)


def test_messages_never_quote_what_came_from_the_environment(tmp_path: Path) -> None:
    text = graph("[{id: a, type: loop_counter, config: {max_iterations: '${KEY}'}}]")
    with pytest.raises(GraphError) as caught:
        loads(text, VOCABULARY, environ={"KEY": "sk-secret"})
    assert "${KEY}" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_text_from_the_environment_is_read_where_a_number_is_wanted() -> None:
    text = graph(
        "[{id: a, type: loop_counter, config: {max_iterations: '${N}', message: '${N}'}}]",
        "[{from: a, to: a, trigger: '${T}'}]",
        "  start: a\n  end: a\n",
    )
    spec = loads(text, VOCABULARY, environ={"N": "7", "T": "false"}).spec
    assert spec.nodes[0].config == LoopCounter(max_iterations=7, message="7")
    assert spec.edges[0].trigger is False


def test_a_graph_inside_a_node_is_loaded_with_it() -> None:
    spec = loads(inline(INNER % ("passthrough", "{from: p, to: q}")), VOCABULARY).spec
    inner = spec.nodes[0].inner
    assert inner is not None
    assert (inner.id, inner.start, inner.end) == ("inner", ("p",), ("q",))


def test_problems_inside_an_inner_graph_have_their_whole_path() -> None:
    found = problems(inline(INNER % ("passthru", "{from: p, to: r}")))
    assert [(problem.line, problem.path) for problem in found] == [
        (8, "graph.nodes[0].config.config.nodes[1].type"),
        (8, "graph.nodes[0].config.config.edges[0].to"),
    ]


def test_a_graph_in_a_file_is_found_from_the_file_that_names_it(tmp_path: Path) -> None:
    main = write(tmp_path, "main.yaml", including("parts/one.yaml"))
    write(tmp_path, "parts/one.yaml", f"vars: {{T: two.yaml}}\n{including('${T}')}")
    write(tmp_path, "parts/two.yaml", f"id: two\nnodes: {nodes('x')}\n")
    loaded = load(main, VOCABULARY)
    one = loaded.spec.nodes[0].inner
    assert one is not None
    two = one.nodes[0].inner
    assert two is not None
    assert (two.id, two.file) == ("two", str(tmp_path / "parts/two.yaml"))
    assert loaded.warnings == ()
    assert list(loaded.includes) == ["parts/one.yaml", "parts/two.yaml"]


def test_a_loaded_graph_can_be_made_again_without_its_files(tmp_path: Path) -> None:
    main = write(tmp_path, "main.yaml", including("one.yaml"))
    write(tmp_path, "one.yaml", including("two.yaml"))
    write(tmp_path, "two.yaml", graph(nodes("x")))
    loaded = load(main, VOCABULARY)
    stored = json.loads(json.dumps([loaded.document, loaded.includes]))
    again = from_document(stored[0], VOCABULARY, "/nowhere", includes=stored[1]).spec
    assert again.nodes[0].inner is not None
    assert again.nodes[0].inner.nodes[0].inner is not None
    assert again.nodes[0].inner.nodes[0].inner.nodes[0].id == "x"


def test_problems_in_an_included_file_name_that_file(tmp_path: Path) -> None:
    main = write(tmp_path, "main.yaml", including("one.yaml") + "  xyz: 1\n")
    one = write(tmp_path, "one.yaml", graph("\n  - id: a\n    type: agnet"))
    with pytest.raises(GraphError) as caught:
        load(main, VOCABULARY)
    places = [(problem.file, problem.line, problem.path) for problem in caught.value.problems]
    assert places == [(str(main), 9, "graph.xyz"), (str(one), 5, "graph.nodes[0].type")]


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "the file 'one.yaml' does not exist"), ("a: [", "this is not valid YAML")],
)
def test_an_included_file_that_cannot_be_read_is_a_problem(
    text: str | None, message: str, tmp_path: Path
) -> None:
    main = write(tmp_path, "main.yaml", including("one.yaml"))
    if text is not None:
        write(tmp_path, "one.yaml", text)
    with pytest.raises(GraphError) as caught:
        load(main, VOCABULARY)
    (problem,) = caught.value.problems
    assert message in problem.message
    expected = "graph.nodes[0].config.file" if text is None else ""
    assert problem.path == expected


def test_a_file_that_includes_itself_is_a_problem(tmp_path: Path) -> None:
    main = write(tmp_path, "main.yaml", including("./one.yaml"))
    one = write(tmp_path, "one.yaml", including("main.yaml"))
    with pytest.raises(GraphError) as caught:
        load(main, VOCABULARY)
    (problem,) = caught.value.problems
    assert problem.message == "the graph contains itself: main.yaml -> one.yaml -> main.yaml"
    assert (problem.file, problem.line) == (str(one), 7)
    assert problem.path == "graph.nodes[0].config.file"


def test_graphs_nest_to_a_limit(tmp_path: Path) -> None:
    for level in range(25):
        write(tmp_path, f"{level}.yaml", including(f"{level + 1}.yaml"))
    with pytest.raises(GraphError) as caught:
        load(tmp_path / "0.yaml", VOCABULARY)
    (problem,) = caught.value.problems
    assert "nest deeper than 20 levels" in problem.message
    assert problem.file == str(tmp_path / "20.yaml")


def test_a_file_included_often_is_loaded_once(tmp_path: Path) -> None:
    for level in range(18):
        node = f"{{id: %s, type: subgraph, config: {{file: {level + 1}.yaml}}}}"
        write(tmp_path, f"{level}.yaml", graph(f"[{node % 'a'}, {node % 'b'}]"))
    write(tmp_path, "18.yaml", graph(nodes("x")))
    spec = load(tmp_path / "0.yaml", VOCABULARY).spec
    assert spec.nodes[0].inner is spec.nodes[1].inner


def big(size: int) -> dict[str, Any]:
    keyword = {"type": "keyword", "config": {"any": ["x"]}}
    return {
        "graph": {
            "id": "big",
            "nodes": [{"id": f"n{n}", "type": "passthrough", "config": {}} for n in range(size)],
            "edges": [
                {"from": f"n{n}", "to": f"n{n + 1}", "condition": keyword} for n in range(size - 1)
            ],
        }
    }


def test_a_hundred_thousand_nodes_load() -> None:
    assert from_document(big(100_000), VOCABULARY).spec.end == ("n99999",)


def test_ten_times_the_nodes_are_about_ten_times_the_work() -> None:
    small, large = big(1_000), big(10_000)
    once = calls_of(lambda: from_document(small, VOCABULARY))
    assert calls_of(lambda: from_document(large, VOCABULARY)) < 12 * once


def test_many_wrong_names_are_told_without_comparing_all_with_all() -> None:
    document = big(5_000)
    for edge in document["graph"]["edges"]:
        edge["to"] = edge["to"] + "x"
    with pytest.raises(GraphError) as caught:
        from_document(document, VOCABULARY)
    found = caught.value.problems
    assert found[0].hint == "did you mean 'n1'?"
    assert len(found) == 4_999
    assert "and 4988 more" in found[-1].hint
