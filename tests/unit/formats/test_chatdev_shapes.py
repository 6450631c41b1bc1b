"""Files in the shapes in which ChatDev ships its own: they load, and run as they do there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.nodes.python import FAILED

EDITOR_EDGE = (
    "trigger: true, condition: 'true', carry_data: true, keep_message: false, "
    "clear_context: false, clear_kept_context: false, process: null"
)
"""What its editor writes on every edge."""


def _run(text: str, task: str = "x", **options: Any) -> Any:
    graph = Graph.loads(text, compat="chatdev")
    return asyncio.run(Engine(db=None, **options).run(graph, task))


def _graph(nodes: list[str], edges: list[str] = (), more: str = "") -> str:  # type: ignore[assignment]
    listed = "".join(f"    - {node}\n" for node in nodes)
    drawn = "".join(f"    - {edge}\n" for edge in edges)
    first = nodes[0].split("id: ")[1].split(",")[0]
    start = "" if "start:" in more else f"  start: [{first}]\n"
    return f"graph:\n  id: shape\n{start}{more}  nodes:\n{listed}  edges:\n{drawn or '    []'}\n"


def test_a_dynamic_edge_without_a_split_takes_each_message_as_a_part() -> None:
    edges = [
        f"{{from: a, to: p, {EDITOR_EDGE}, dynamic: null}}",
        f"{{from: b, to: p, {EDITOR_EDGE}, dynamic: null}}",
        f"{{from: p, to: t, {EDITOR_EDGE}, dynamic: {{type: map, split: null, config: null}}}}",
    ]
    nodes = [
        "{id: a, type: literal, config: {content: one, role: user}, dynamic: null}",
        "{id: b, type: literal, config: {content: two, role: user}}",
        "{id: p, type: passthrough, config: {only_last_message: false}}",
        "{id: t, type: template, config: {template: '<{{ input }}>'}}",
        "{id: z, type: passthrough, config: {only_last_message: false}}",
    ]
    text = _graph(nodes, [*edges, "{from: t, to: z}"], "  start: [a, b]\n  end: [z]\n")
    graph = Graph.loads(text, compat="chatdev")

    async def run() -> list[str]:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "x")
            await session.settled()
            [step] = [step for step in session.steps() if step.node_id == "z"]
            return [message["content"] for message in step.outputs]

    assert asyncio.run(run()) == ["<one>", "<two>"]


def test_an_empty_template_is_none() -> None:
    process = "{type: regex_extract, config: {pattern: 'b+', template: '', group: ''}}"
    nodes = [
        "{id: a, type: literal, config: {content: abbc}}",
        "{id: z, type: passthrough, config: {}}",
    ]
    assert _run(_graph(nodes, [f"{{from: a, to: z, process: {process}}}"])).output == "bb"


def test_an_empty_end_without_a_sink_completes_with_an_empty_output() -> None:
    nodes = [
        "{id: a, type: passthrough, config: {}}",
        "{id: b, type: loop_counter, config: {max_iterations: 2}}",
    ]
    edges = [
        "{from: a, to: b}",
        "{from: b, to: a}",
    ]
    result = _run(_graph(nodes, edges, "  end: []\n"))
    assert (result.status, result.output) == ("completed", "")


VOTE = """\
graph:
  id: vote
  is_majority_voting: true
  start: [a]
  end: [b]
  nodes:
    - {id: a, type: literal, config: {content: yes}}
    - {id: b, type: literal, config: {content: NAY}}
    - {id: c, type: literal, config: {content: aye}}
    - {id: d, type: literal, config: {content: NAY}}
    - {id: e, type: passthrough, config: {}}
  edges: [{from: a, to: b}]
""".replace("content: yes", "content: 'yes'")


def test_a_majority_vote_is_what_most_nodes_say_whatever_start_end_and_edges_say() -> None:
    assert _run(VOTE, "task").output == "NAY"
    tie = VOTE.replace("content: NAY", "content: aye", 1).replace("content: NAY", "content: yep")
    assert _run(tie, "task").output == "aye"
    none = VOTE.replace("NAY", "nay", 1)
    assert _run(none, "task").output == "yes"  # all said once: the first


def test_variables_of_the_outer_file_reach_the_files_of_its_subgraphs(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(
        "vars: {OWN: inner}\n"
        + _graph(["{id: l, type: literal, config: {content: '${WORD} ${OWN}'}}"])
    )
    (tmp_path / "outer.yaml").write_text(
        "vars: {WORD: outer, OWN: outer}\n"
        + _graph(
            ["{id: s, type: subgraph, config: {type: file, config: {path: inner.yaml}}}"],
        )
    )
    graph = Graph.load(tmp_path / "outer.yaml", compat="chatdev")
    assert asyncio.run(Engine(db=None).run(graph, "x")).output == "outer inner"


def test_a_file_of_a_subgraph_may_be_named_from_the_folder_of_the_outermost(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    leaf = _graph(["{id: l, type: literal, config: {content: leaf}}"])
    (tmp_path / "parts" / "leaf.yaml").write_text(leaf)
    for file, named in (
        ("parts/middle.yaml", "parts/leaf.yaml"),
        ("top.yaml", "parts/middle.yaml"),
    ):
        node = f"{{id: s, type: subgraph, config: {{type: file, config: {{path: {named}}}}}}}"
        (tmp_path / file).write_text(_graph([node]))
    graph = Graph.load(tmp_path / "top.yaml", compat="chatdev")
    for each in (graph, Graph.from_document(graph.document, includes=graph.includes)):
        assert asyncio.run(Engine(db=None).run(each, "x")).output == "leaf"


def test_a_template_node_fills_its_template_with_the_newest_message() -> None:
    template = "\"{% set it = input | fromjson %}{{ it.name }}: {{ it.tags | join('+') }}\""
    nodes = [
        """{id: a, type: literal, config: {content: '{"name": "n", "tags": ["x", "y"]}'}}""",
        f"{{id: t, type: template, config: {{template: {template}}}}}",
    ]
    assert _run(_graph(nodes, ["{from: a, to: t}"])).output == "n: x+y"


# python


def _code(code: str, **settings: Any) -> str:
    config = ", ".join(f"{key}: {value}" for key, value in settings.items())
    return f"""\
graph:
  id: code
  start: [Run it]
  nodes:
    - {{id: Run it, type: python, config: {{{config}}}}}
  edges: []
"""


SCRIPTS = {
    "a file of its own": ("import os; print(os.path.basename(__file__))", "Run_it.py\n"),
    "bytes": ("import sys; sys.stdout.buffer.write(b'raw'); sys.exit()", "raw"),
    "processes": (
        "import multiprocessing as m\ndef f(n): return n * 2\n"
        "if __name__ == '__main__':\n    with m.Pool(2) as p: print(p.map(f, [1, 2]))",
        "[2, 4]\n",
    ),
    "a block of code": ("Here:\n```python\n  print('in a block')\n```\nWell?", "in a block\n"),
    "an environment": ("import os; print(os.environ['MAC_NODE_ID'])", "Run it\n"),
    "nothing": ("  ", f"{FAILED}\nNo executable code segment found"),
    "an exit": ("import sys; sys.exit(3)", f"{FAILED}\nScript execution failed\nexit_code=3"),
}


@pytest.mark.parametrize(("code", "output"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_python_node_runs_what_it_is_sent_as_a_script(code: str, output: str) -> None:
    result = _run(_code(code), code, allow_python=True)
    assert (result.status, result.output) == ("completed", output)


def test_what_a_script_raises_is_said_with_its_trace() -> None:
    output = _run(_code(""), "def f(): 1 / 0\nf()", allow_python=True).output
    assert output.startswith(f"{FAILED}\nScript execution failed\nexit_code=1\nstderr:\nTraceback")
    assert "ZeroDivisionError" in output


def test_a_script_that_takes_too_long_or_floods_has_failed_in_words() -> None:
    slow = _run(_code("", timeout_seconds=1), "import time; time.sleep(60)", allow_python=True)
    assert slow.output == f"{FAILED}\nScript did not finish within 1s"
    flood = _run(_code(""), "while True: print('x' * 1000)", allow_python=True)
    assert flood.output.startswith(f"{FAILED}\nScript printed more than")


def test_arguments_and_environment_of_a_script_are_kept() -> None:
    text = _code("", args="[-O]", env="{WORD: tea}")
    code = "import os\nassert False\nprint(os.environ['WORD'])"
    assert _run(text, code, allow_python=True).output == "tea\n"
