"""ChatDev's rules, one by one: each is what issue and table say, and differs from our own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rondel import Engine, Graph

Steps = list[tuple[str, list[tuple[str, str]], list[str]]]


async def _ran(graph: Graph, task: str) -> tuple[Any, Steps]:
    async with Engine(db=None) as engine:
        session = await engine.start(graph, task)
        result = await session.settled()
        steps = [
            (
                step.node_id,
                [(message["source"], message["content"]) for message in step.inputs],
                [message["content"] for message in step.outputs],
            )
            for step in session.steps()
        ]
        return result, steps


def _run(body: str, task: str = "task", compat: str | None = "chatdev") -> tuple[Any, Steps]:
    return asyncio.run(_ran(Graph.loads(f"graph:\n  id: rules\n{body}", compat=compat), task))


def _seen(steps: Steps, node: str) -> list[list[tuple[str, str]]]:
    return [inputs for name, inputs, _ in steps if name == node]


PLAIN = "type: passthrough, config: {}"
ALL = "type: passthrough, config: {only_last_message: false}"


def test_start_nodes_alone_get_the_task() -> None:
    _, steps = _run(
        f"""\
  start: [a, b]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, type: literal, config: {{content: hello}}}}
    - {{id: c, {ALL}}}
  edges:
    - {{from: a, to: c, carry_data: false}}
    - {{from: b, to: c}}
"""
    )
    assert _seen(steps, "a") == _seen(steps, "b") == [[("TASK", "task")]]
    assert _seen(steps, "c") == [[("b", "hello")]]


LOOP = f"""\
  start: [a]
  end: [z]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, {PLAIN}}}
    - {{id: c, {PLAIN}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: a, to: b}}
    - {{from: b, to: c}}
    - {{from: c, to: a}}
    - {{from: b, to: z}}
"""


@pytest.mark.parametrize(("compat", "rest"), [("chatdev", []), (None, ["c", "a"])])
def test_a_loop_ends_as_soon_as_an_edge_leaves_it(compat: str | None, rest: list[str]) -> None:
    result, steps = _run(LOOP, compat=compat)
    assert [name for name, _, _ in steps] == ["a", "b", *rest, "z"]
    assert result.loops[0].exit_reason == "exit_edge"


def test_edges_that_only_carry_data_form_the_outermost_loops() -> None:
    body = f"""\
  start: [a]
  end: [z]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, {PLAIN}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: a, to: b}}
    - {{from: b, to: a, trigger: false}}
    - {{from: b, to: z}}
"""
    there, _ = _run(body)
    here, _ = _run(body, compat=None)
    assert [loop.loop for loop in there.loops] == ["a"]
    assert here.loops == []


def _kept(middle: str) -> Steps:
    """What a message that was kept is to the node after the next."""
    _, steps = _run(
        f"""\
  start: [a]
  end: [z]
  nodes:
    - {{id: a, type: literal, config: {{content: rule}}}}
    - {{id: m, {middle}}}
    - {{id: w, {ALL}}}
    - {{id: g, type: loop_counter, config: {{max_iterations: 2}}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: a, to: m, keep_message: true}}
    - {{from: m, to: w}}
    - {{from: w, to: w, carry_data: false}}
    - {{from: w, to: g}}
    - {{from: g, to: w}}
    - {{from: g, to: z}}
"""
    )
    return steps


INNER = (
    "type: subgraph, config: {type: config, config: {id: i, start: [p], end: [p], "
    "nodes: [{id: p, type: passthrough, config: {}}], edges: []}}"
)


@pytest.mark.parametrize("middle", [PLAIN, INNER], ids=["passthrough", "subgraph"])
def test_the_kept_mark_travels_with_a_message(middle: str) -> None:
    assert _seen(_kept(middle), "w") == [[("m", "rule")], [("m", "rule")]]


def test_an_agents_answer_is_not_kept_because_its_input_was() -> None:
    literal = "type: literal, config: {content: other}"
    assert _seen(_kept(literal), "w") == [[("m", "other")], []]


def test_a_subgraph_without_output_emits_one_empty_message() -> None:
    counter = "type: loop_counter, config: {max_iterations: 9}"
    silent = INNER.replace("type: passthrough, config: {}", counter)
    result, steps = _run(
        f"""\
  start: [s]
  nodes:
    - {{id: s, {silent}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: s, to: z}}
"""
    )
    assert _seen(steps, "z") == [[("s", "")]]
    assert (result.status, result.output) == ("completed", "")


def _ends(end: str) -> str:
    result, _ = _run(
        f"""\
  start: [a]
  {end}
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, type: literal, config: {{content: from b}}}}
    - {{id: c, type: literal, config: {{content: from c}}}}
    - {{id: never, {PLAIN}}}
  edges:
    - {{from: a, to: b}}
    - {{from: a, to: c}}
    - {{from: a, to: never, condition: always_false}}
"""
    )
    assert result.status == "completed"
    return str(result.output)


@pytest.mark.parametrize(
    ("end", "output"),
    [
        ("end: [c, b]", "from c"),
        ("end: [never, c, b]", "from c"),
        ("end: [never]", "from b"),
        ("description: its sinks are its end", "from b"),
    ],
)
def test_the_first_end_with_output_is_the_result_else_the_first_sink(end: str, output: str) -> None:
    assert _ends(end) == output


def test_a_tree_joins_its_parts_group_by_group() -> None:
    _, steps = _run(
        f"""\
  start: [a]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, type: literal, config: {{content: joined}}}}
  edges:
    - from: a
      to: b
      dynamic:
        type: tree
        split: {{type: regex, config: {{pattern: '\\w+'}}}}
        config: {{group_size: 2}}
""",
        "one two three four",
    )
    said, *parts = [said for name, _, said in steps if name == "b"]
    assert said == ["joined"]
    assert parts == [["joined"]] * 3  # two groups of two, and one of what these said


def test_a_loop_timer_speaks_when_its_time_is_over() -> None:
    result, _ = _run(
        f"""\
  start: [a]
  end: [z]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: t, type: loop_timer, config: {{max_duration: 0.00001, message: over}}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: a, to: t}}
    - {{from: a, to: a}}
    - {{from: t, to: a}}
    - {{from: t, to: z}}
"""
    )
    assert (result.status, result.output) == ("completed", "over")


def test_two_entries_into_one_loop_at_once_are_an_error_that_names_both() -> None:
    result, _ = _run(
        f"""\
  start: [s]
  end: [z]
  nodes:
    - {{id: s, {PLAIN}}}
    - {{id: a, {PLAIN}}}
    - {{id: b, {PLAIN}}}
    - {{id: z, {PLAIN}}}
  edges:
    - {{from: s, to: a}}
    - {{from: s, to: b}}
    - {{from: a, to: b}}
    - {{from: b, to: a}}
    - {{from: b, to: z}}
"""
    )
    assert (result.status, result.reason) == ("failed", "two_entries")
    assert "'a'" in result.message
    assert "'b'" in result.message


@pytest.mark.parametrize(
    ("condition", "fires"),
    [
        ("'true'", True),
        ("always_false", False),
        ("{type: function, config: {name: 'true'}}", True),
        ("{type: keyword, config: {any: [TASK]}}", False),
        ("{type: keyword, config: {any: [TASK], case_sensitive: false}}", True),
        ("{type: keyword, config: {none: [task], any: [task]}}", False),
        ("{type: keyword, config: {regex: ['^t.*k$']}}", True),
        ("{type: keyword, config: {none: [other]}}", True),
    ],
)
def test_conditions_hold_as_there(condition: str, fires: bool) -> None:
    _, steps = _run(
        f"""\
  start: [a]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, {PLAIN}}}
  edges:
    - {{from: a, to: b, condition: {condition}}}
"""
    )
    assert ("b" in [name for name, _, _ in steps]) == fires


def test_a_diamond_with_a_side_that_nothing_triggers_ends_beside_a_data_edge_back() -> None:
    result, steps = _run(
        f"""\
  start: [a]
  end: [d]
  nodes:
    - {{id: a, {PLAIN}}}
    - {{id: b, {PLAIN}}}
    - {{id: c, {PLAIN}}}
    - {{id: d, {PLAIN}}}
  edges:
    - {{from: a, to: b}}
    - {{from: a, to: c, trigger: false}}
    - {{from: b, to: d}}
    - {{from: c, to: d}}
    - {{from: d, to: a, trigger: false}}
"""
    )
    assert (result.status, result.output) == ("completed", "task")
    assert [name for name, _, _ in steps] == ["a", "b", "d"]
