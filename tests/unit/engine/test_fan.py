"""Dynamic edges run their target over the parts of a message, in order, so many at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rondel
from rondel import Context, Engine, Graph, Message
from rondel.engine.protocols import Usage
from rondel.errors import GraphError
from tests.unit.sessions.playing import until

REGEX = {"type": "regex", "config": {"pattern": r"^- (.*)$"}}


def fanned(dynamic: dict[str, Any], source: Any, work: Any, **fields: Any) -> Graph:
    graph = Graph("g", start="source", end="out")
    graph.node(id="source")(source)
    graph.node(id="work", **fields)(work)
    graph.node(id="out")(lambda inp: "|".join(message.text for message in inp.new_messages))
    graph.edge("source", "work", dynamic=dynamic)
    graph.edge("work", "out")
    return graph


@settings(max_examples=25, deadline=None)
@given(items=st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=12))
def test_the_results_of_a_map_are_in_the_order_of_the_split(items: list[str]) -> None:
    async def work(inp: Context) -> str:
        await asyncio.sleep(0.001 * (len(items) - items.index(inp.text)))
        return inp.text.upper()

    text = "\n".join(f"- {item}" for item in items)
    result = rondel.run(fanned({"type": "map", "split": REGEX}, lambda inp: text, work))
    assert result.output == "|".join(item.upper() for item in items)


def test_a_map_never_runs_more_at_once_than_it_may() -> None:
    under_way, most = 0, 0

    async def work(inp: Context) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.002)
        under_way -= 1
        return inp.text

    messages = [Message(str(number)) for number in range(100)]
    dynamic = {"type": "map", "config": {"max_parallel": 10}}
    result = rondel.run(fanned(dynamic, lambda inp: messages, work))
    assert result.output == "|".join(map(str, range(100)))
    assert most == 10


def test_a_tree_reduces_in_groups_down_to_one() -> None:
    seen: list[list[str]] = []

    def work(inp: Context) -> str:
        seen.append([message.text for message in inp.new_messages])
        return "+".join(seen[-1])

    messages = [Message(letter) for letter in "abcdefg"]
    dynamic = {"type": "tree", "config": {"group_size": 3}}
    result = rondel.run(fanned(dynamic, lambda inp: messages, work))
    assert seen == [["a", "b", "c"], ["d", "e", "f"], ["g"], ["a+b+c", "d+e+f", "g"]]
    assert result.output == "a+b+c+d+e+f+g"


@pytest.mark.parametrize(
    ("path", "document", "parts"),
    [
        ("$.items", {"items": ["a", "b"]}, ["a", "b"]),
        ("items[*].name", {"items": [{"name": "a"}, {"name": "b"}]}, ["a", "b"]),
        ("$", ["a", 1], ["a", "1"]),
        ("$.groups[1]", {"groups": [["x"], ["y", "z"]]}, ["y", "z"]),
        ("$.missing", {"items": []}, []),
    ],
)
def test_a_json_path_finds_the_parts(path: str, document: Any, parts: list[str]) -> None:
    seen: list[str] = []
    split = {"type": "json_path", "config": {"path": path}}
    graph = fanned(
        {"type": "map", "split": split},
        lambda inp: f"{json.dumps(document)}",
        lambda inp: seen.append(inp.text) or inp.text,
    )
    rondel.run(graph)
    assert seen == parts


def test_every_run_sees_what_came_by_other_edges() -> None:
    seen: list[list[str]] = []

    def work(inp: Context) -> str:
        seen.append([message.text for message in inp.messages])
        return inp.text

    graph = fanned({"type": "map"}, lambda inp: [Message("a"), Message("b")], work)
    graph.add("style", "literal", {"content": "be brief"})
    graph.edge("source", "style")
    graph.edge("style", "work")
    rondel.run(graph)
    assert seen == [["be brief", "a"], ["be brief", "b"]]


async def test_an_agent_takes_one_scripted_answer_a_run_and_pays_for_each() -> None:
    graph = Graph.loads("""
graph:
  id: g
  start: Source
  nodes:
    - {id: Source, type: literal, config: {content: "- a\\n- b\\n- c"}}
    - id: Worker
      type: agent
      config:
        provider: scripted
        answers:
          - {content: one, usage: {input_tokens: 1, output_tokens: 2}}
          - {content: two, usage: {input_tokens: 3, output_tokens: 4}}
          - {content: three, usage: {input_tokens: 5, output_tokens: 6}}
    - {id: Out, type: passthrough, config: {only_last_message: false}}
  edges:
    - from: Source
      to: Worker
      dynamic: {type: map, split: {type: regex, config: {pattern: "- (.*)"}}}
    - {from: Worker, to: Out}
""")

    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        result = await session.result()
        whole, *parts = [step for step in session.steps() if step.node_id == "Worker"]
        assert [message["content"] for message in whole.outputs] == ["one", "two", "three"]
        assert [part.address for part in parts] == ["Worker(1)", "Worker(2)", "Worker(3)"]
        assert [part.inputs[-1]["content"] for part in parts] == ["a", "b", "c"]
        assert [part.outputs[0]["content"] for part in parts] == ["one", "two", "three"]
        assert [part.usage.tokens for part in parts] == [3, 7, 11]
        assert (result.usage.model_calls, result.usage.tokens) == (3, 21)
        assert len(session.ledger()) == 3


def test_a_failed_run_is_tried_again_alone() -> None:
    tried: list[str] = []

    def work(inp: Context) -> str:
        tried.append(inp.text)
        if inp.text == "b" and inp.attempt == 1:
            raise ValueError("once")
        return inp.text

    messages = [Message("a"), Message("b"), Message("c")]
    retry = {"max_attempts": 2, "min_wait": 0, "max_wait": 0}
    result = rondel.run(fanned({"type": "map"}, lambda inp: messages, work, retry=retry))
    assert result.output == "a|b|c"
    assert sorted(tried) == ["a", "b", "b", "c"]


async def test_runs_that_are_done_are_not_done_again_after_a_crash(tmp_path: Path) -> None:
    done: list[str] = []
    stuck = True

    async def work(inp: Context) -> str:
        if inp.text == "c" and stuck:
            await asyncio.sleep(3600)
        done.append(inp.text)
        inp.charge(Usage("m", 1, 1))
        return inp.text

    graph = fanned({"type": "map"}, lambda inp: [Message(letter) for letter in "abc"], work)

    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(graph)
        await until(lambda: len(session.ledger()) == 2)
    stuck = False
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.resume(session.id, graph)
        result = await session.result()
        assert (result.output, result.usage.model_calls) == ("a|b|c", 3)
    assert sorted(done) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("dynamic", "told"),
    [
        ({"type": "mop"}, "'map' or 'tree'"),
        ({"type": "map", "split": {"type": "regexp"}}, "did you mean 'regex'"),
        ({"type": "map", "split": {"type": "regex"}}, "'pattern' is missing"),
        ({"type": "map", "split": {"type": "regex", "config": {"pattern": "("}}}, "pattern"),
        ({"type": "map", "split": {"type": "json_path", "config": {"path": "a["}}}, "cannot be"),
        ({"type": "tree", "config": {"group_size": 1}}, "at least 2"),
        ({"type": "map", "config": {"max_paralel": 1}}, "did you mean 'max_parallel'"),
    ],
)
def test_a_wrong_dynamic_edge_is_told_at_load(dynamic: dict[str, Any], told: str) -> None:
    graph = fanned(dynamic, lambda inp: "a", lambda inp: "b")
    with pytest.raises(GraphError) as caught:
        graph.plan()
    assert any(told in f"{p.message}; {p.hint}" for p in caught.value.problems), caught.value


async def test_a_person_is_asked_about_each_part() -> None:
    graph = Graph("g", start="source", end="out")
    graph.node(id="source")(lambda inp: [Message("a"), Message("b")])
    graph.add("ask", "human", {})
    graph.node(id="out")(lambda inp: "|".join(message.text for message in inp.new_messages))
    graph.edge("source", "ask", dynamic={"type": "map"})
    graph.edge("ask", "out")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.settled()
        assert session.status == "waiting"
        await session.answer("about a")
        await session.answer("about b")
        result = await session.result()
        assert result.output == "about a|about b"
        asked = [step.address for step in session.steps() if step.node_id == "ask"]
        assert asked == ["ask", "ask(1)", "ask(2)"]


INNER: dict[str, Any] = {
    "id": "inner",
    "start": ["once"],
    "end": ["done"],
    "nodes": [
        {"id": "once", "type": "passthrough"},
        {"id": "done", "type": "function", "config": {"name": "shout"}},
    ],
    "edges": [
        {
            "from": "once",
            "to": "once",
            "condition": {"type": "expr", "config": {"expr": "round < 2"}},
        },
        {
            "from": "once",
            "to": "done",
            "condition": {"type": "expr", "config": {"expr": "round > 1"}},
        },
    ],
}


async def test_a_graph_inside_a_node_runs_for_each_part(tmp_path: Path) -> None:
    registry = rondel.builtin_registry()
    registry.function("shout", lambda inp: inp.text.upper())
    body = {
        "id": "g",
        "start": ["source"],
        "end": ["out"],
        "nodes": [
            {"id": "source", "type": "literal", "config": {"content": "- a\n- b\n- c"}},
            {"id": "S", "type": "subgraph", "config": {"graph": INNER}},
            {"id": "out", "type": "passthrough", "config": {"only_last_message": False}},
        ],
        "edges": [
            {"from": "source", "to": "S", "dynamic": {"type": "map", "split": REGEX}},
            {"from": "S", "to": "out"},
        ],
    }
    graph = Graph.from_document({"graph": body}, registry=registry)
    async with Engine(db=tmp_path / "s.db", registry=registry) as engine:
        session = await engine.start(graph)
        await session.result()
        steps = {step.address: step for step in session.steps()}
    assert [m["content"] for m in steps["S"].outputs] == ["A", "B", "C"]
    assert [m["content"] for m in steps["S(2)/done"].outputs] == ["B"]
    assert "S(3)/once[2]/once" in steps
    async with Engine(db=tmp_path / "s.db", registry=registry) as engine:
        again = [step.address for step in engine.get(session.id).steps()]
    assert again == [*steps]


async def test_an_attempt_of_a_part_is_kept_over_a_crash(tmp_path: Path) -> None:
    attempts: list[tuple[str, int]] = []

    async def work(inp: Context) -> str:
        attempts.append((inp.text, inp.attempt))
        if inp.text == "b" and inp.attempt < 3:
            raise ValueError("not yet")
        return inp.text

    retry = {"max_attempts": 3, "min_wait": "1s", "max_wait": "1s"}
    graph = fanned({"type": "map"}, lambda inp: [Message("a"), Message("b")], work, retry=retry)
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.start(graph)
        await until(lambda: len(attempts) == 2)
        await asyncio.sleep(0.1)  # the failed attempt is journalled, the next is not due yet
    async with Engine(db=tmp_path / "s.db") as engine:
        session = await engine.resume(session.id, graph)
        assert (await session.result()).output == "a|b"
    assert attempts == [("a", 1), ("b", 1), ("b", 2), ("b", 3)]


async def test_each_part_is_told_in_the_events() -> None:
    graph = fanned({"type": "map"}, lambda inp: [Message("a"), Message("b")], lambda inp: inp.text)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        told = [
            (event.address, event.data["status"])
            async for event in session.events()
            if event.event == "node_state_change" and event.node_id == "work"
        ]
    assert told == [
        ("work", "running"),
        ("work(1)", "running"),
        ("work(2)", "running"),
        ("work(1)", "completed"),
        ("work(2)", "completed"),
        ("work", "completed"),
    ]


def test_a_tree_of_one_part_hands_it_on_in_a_foreign_dialect() -> None:
    text = """
graph:
  id: g
  start: [a]
  nodes:
    - {id: a, type: literal, config: {content: one}}
    - {id: t, type: template, config: {template: '<{{ input }}>'}}
  edges:
    - {from: a, to: t, dynamic: {type: tree, config: {group_size: 2}}}
"""
    assert rondel.run(Graph.loads(text, compat="chatdev"), "x").output == "one"
    assert rondel.run(Graph.loads(text), "x").output == "<one>"


def test_a_part_that_fails_for_good_runs_again_alone_when_the_session_goes_on() -> None:
    tried: list[str] = []

    def work(inp: Context) -> str:
        tried.append(inp.text)
        if tried.count("b") == 1 and inp.text == "b":
            raise ValueError("once")
        return inp.text

    graph = fanned({"type": "map"}, lambda inp: [Message(x) for x in "abc"], work)

    async def run() -> str:
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            await session.settled()
            assert session.status == "failed"
            await session.resume()
            return (await session.result()).output

    assert asyncio.run(run()) == "a|b|c"
    assert (tried.count("a"), tried.count("b")) == (1, 2)  # c may have been under way
