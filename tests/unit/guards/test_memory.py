"""Promotion by the graph's author: what goes into working memory, when, and what it costs a run."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from rondel import Engine, Event, Graph, GraphError, Message, Session
from rondel.errors import CallError, JournalFull
from rondel.graph.spec import MemorySpec
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Group, MemoryEntry, Promotion
from rondel.journal.working_memory import WorkingMemory, confidence_in, group_of

GROUP = {"group_id": "g"}


def contents(engine: Engine, group: Group | str = "g") -> list[Any]:
    """What the group remembers, oldest first."""
    whose = Group(group) if isinstance(group, str) else group
    return [entry.content for entry in engine.store.recall(whose, 0.0, 100)][::-1]


async def ended(engine: Engine, graph: Graph, inputs: Any = GROUP) -> Session:
    session = await engine.start(graph, inputs)
    result = await session.settled()
    assert result.status == "completed", result.message
    return session


async def told(session: Session) -> list[Event]:
    return [event async for event in session.events() if event.event == "memory_error"]


def saying(*messages: Any, **section: Any) -> Graph:
    """A graph whose node `say` emits these messages and is promoted."""
    graph = Graph("saying")
    graph.node(id="say")(lambda inp: [*messages])
    graph.memory(**{"promote": ["say"], **section})
    return graph


class Failing(MemoryStore):
    """A store whose working memory is broken."""

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        raise JournalFull("there is no space left")


# Whose memory it is


@pytest.mark.parametrize(
    ("given", "name"),
    [("a", "a"), (" a", " a"), ("A", "A"), (1, "1"), ("1", "1"), (1.5, "1.5"), (-0.0, "-0.0")],
)
def test_a_group_is_the_text_of_the_group_id(given: Any, name: str) -> None:
    assert group_of("s", {"group_id": given}) == Group(name)


@pytest.mark.parametrize("given", [None, "", " \t\n", "\u3000", True, False, [], ["a"], {"a": 1}])
def test_without_a_usable_group_id_a_session_is_its_own_group(given: Any) -> None:
    assert group_of("s", {"group_id": given}) == group_of("s", {}) == Group("s", own=True)


@pytest.mark.parametrize(
    ("given", "confidence"),
    [(0.5, 0.5), (1, 1.0), (True, None), ("0.1", None), (None, None), (float("nan"), None)],
)
def test_a_confidence_is_a_number(given: Any, confidence: float | None) -> None:
    assert confidence_in({"confidence": given}) == confidence


# What is promoted


async def test_only_what_the_named_nodes_emit_is_promoted() -> None:
    graph = Graph("two")
    graph.node(id="draft")(lambda inp: "a draft")
    graph.node(id="critic")(lambda inp: Message("a remark", {"confidence": 0.9}))
    graph.edge("draft", "critic")
    graph.memory(promote="critic")
    async with Engine(db=None) as engine:
        session = await ended(engine, graph)
        (entry,) = engine.store.recall(Group("g"), 0.0, 9)
        assert (entry.session, entry.address, entry.node_id) == (session.id, "critic", "critic")
        assert (entry.content, entry.data) == ("a remark", {"confidence": 0.9})
        assert entry.confidence == 0.9


async def test_what_is_not_sure_enough_stays_out_and_what_says_nothing_goes_in() -> None:
    made = [Message(f"{c}", {"confidence": c}) for c in (0.79, 0.8, 1, 0)]
    async with Engine(db=None) as engine:
        session = await ended(engine, saying(*made, Message("silent")))
        assert contents(engine) == ["0.8", "1", "silent"]
        assert await told(session) == []


async def test_the_graph_says_how_sure_how_many_and_how_long() -> None:
    async with Engine(db=None) as engine:
        made = [Message(f"{c}", {"confidence": c / 10}) for c in range(10)]
        await ended(engine, saying(*made, min_confidence=0.3, size=4))
        assert contents(engine) == ["6", "7", "8", "9"]
        await asyncio.sleep(0.02)
        await ended(engine, saying(Message("late"), max_age="10ms"))
        assert contents(engine) == ["late"]


async def test_a_node_in_a_loop_promotes_every_round() -> None:
    graph = Graph("loop")
    graph.node(id="write")(lambda inp: f"draft {inp.round}")
    graph.node(id="done")(lambda inp: "done")
    graph.edge("write", "write", when="round < 3")
    graph.edge("write", "done", when="round >= 3")
    graph.memory(promote=["write"])
    async with Engine(db=None) as engine:
        await ended(engine, graph)
        assert contents(engine) == ["draft 1", "draft 2", "draft 3"]


NESTED = """
graph:
  id: outer
  memory: {promote: [Same], size: 3}
  nodes:
    - {id: Same, type: literal, config: {content: outer}}
    - {id: Other, type: literal, config: {content: not promoted}}
    - id: Sub
      type: subgraph
      config:
        graph:
          id: inner
          memory: {promote: [Other], size: 1}
          nodes:
            - {id: Same, type: literal, config: {content: not promoted either}}
            - {id: Other, type: literal, config: {content: inner}}
          edges: [{from: Same, to: Other}]
  edges: [{from: Same, to: Other}, {from: Other, to: Sub}]
"""


async def test_a_promote_list_is_about_the_graph_it_is_in() -> None:
    async with Engine(db=None) as engine:
        await ended(engine, Graph.loads(NESTED))
        entries = engine.store.recall(Group("g"), 0.0, 9)[::-1]
        assert [(e.content, e.node_id) for e in entries] == [
            ("outer", "Same"),
            ("inner", "Sub/Other"),
        ]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{promote: [Sa]}", "graph.memory.promote[0]: there is no node 'Sa'; did you mean 'Say'?"),
        ("{promote: Sa}", "graph.memory.promote: there is no node 'Sa'; did you mean 'Say'?"),
        ("{promote: [Sub]}", "graph.memory.promote[0]: the node 'Sub' is a graph of its own"),
        ("{size: 0}", "graph.memory.size: "),
        ("{max_age: 0}", "graph.memory.max_age: 'max_age' must be longer than 0"),
        ("{min_confidence: 1.5}", "graph.memory.min_confidence: "),
        ("{promot: [Say]}", "unknown key 'promot'; did you mean 'promote'?"),
    ],
)
def test_a_wrong_section_is_an_error_at_load(section: str, message: str) -> None:
    inner = "{id: i, nodes: [{id: p, type: passthrough}]}"
    text = f"""
graph:
  id: g
  memory: {section}
  nodes:
    - {{id: Say, type: passthrough}}
    - {{id: Sub, type: subgraph, config: {{graph: {inner}}}}}
"""
    with pytest.raises(GraphError) as caught:
        Graph.loads(text)
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_defaults_are_those_of_the_contract() -> None:
    graph = Graph.loads("graph: {id: g, memory: , nodes: [{id: a, type: passthrough}]}")
    assert graph.spec.memory == MemorySpec(50, 24 * 3600.0, 0.8, ())


# A store that fails


async def test_a_failed_write_is_an_event_and_not_a_failed_run() -> None:
    async with Engine(Failing()) as engine:
        session = await ended(engine, saying("x"))
        (event,) = await told(session)
        assert event.data == {"error": "there is no space left", "kind": "JournalFull"}
        assert (event.node_id, event.address) == ("say", "say")
        assert event.seq is not None
        assert session.snapshot().output == "x"


async def test_a_store_without_working_memory_fails_no_run_either() -> None:
    class Old(MemoryStore):
        remember = None  # type: ignore[assignment]

    async with Engine(Old()) as engine:
        (event,) = await told(await ended(engine, saying("x")))
        assert event.data["kind"] == "TypeError"


async def test_a_broken_table_fails_no_run_and_stops_no_session(tmp_path: Any) -> None:
    async with Engine(tmp_path / "db") as engine:
        engine.store._writer._db.execute("DROP TABLE memory")  # type: ignore[attr-defined]
        first = await ended(engine, saying("x"))
        (event,) = await told(first)
        assert event.data["kind"] == "JournalError"
        assert "no such table" in event.data["error"]
        await ended(engine, saying("y"))


# What it costs those who do not use it


async def test_nodes_that_are_not_promoted_keep_their_fast_path() -> None:
    graph = Graph("two")
    graph.node(id="a")(lambda inp: "x")
    graph.node(id="b")(lambda inp: "y")
    graph.edge("a", "b")
    graph.memory(promote=["b"])
    async with Engine(db=None) as engine:
        first, second = engine.bind(graph).nodes
        assert not first.waits
        assert second.waits


async def test_a_graph_is_bound_once_for_each_engine_and_again_when_it_changes() -> None:
    graph = saying("x")
    async with Engine(db=None) as engine, Engine(db=None) as other:
        bound = engine.bind(graph)
        assert engine.bind(graph) is bound
        assert other.bind(graph) is not bound
        graph.memory(promote=[])
        assert engine.bind(graph) is not bound


async def test_two_engines_that_run_one_graph_remember_apart() -> None:
    graph = saying("x")
    async with Engine(db=None) as engine, Engine(db=None) as other:
        await ended(engine, graph)
        assert contents(other) == []


# By hand


async def test_a_finished_step_can_be_promoted_by_hand_once_or_twice() -> None:
    graph = saying(Message("a", {"confidence": 0.1}), promote=[])
    async with Engine(db=None) as engine:
        session = await ended(engine, graph)
        assert contents(engine) == []
        (entry,) = await engine.promote(session.id, "say", 0.9)
        assert await engine.promote(session.id, "say", 0.9) == [entry]
        assert engine.store.recall(Group("g"), 0.0, 9) == [entry]
        assert entry.confidence == 0.9
        assert abs(entry.created_at - time.time()) < 60


@pytest.mark.parametrize(
    ("address", "confidence", "message"),
    [
        ("say", None, "a confidence of 0.1 is not enough: working memory takes 0.8 and more"),
        ("say", 0.5, "a confidence of 0.5 is not enough"),
        ("say", 1.5, "a confidence is a number from 0 to 1, not 1.5"),
        ("say", float("nan"), "a confidence is a number from 0 to 1, not nan"),
        ("sya", 0.9, "the session has no finished step at 'sya'; did you mean say?"),
        ("silent", 0.9, "the step at 'silent' emitted nothing"),
    ],
)
async def test_what_cannot_be_promoted_is_refused(
    address: str, confidence: float | None, message: str
) -> None:
    graph = saying(Message("a", {"confidence": 0.1}), promote=[])
    graph.node(id="silent")(lambda inp: [])
    graph.edge("say", "silent")
    async with Engine(db=None) as engine:
        session = await engine.start(graph, GROUP)
        await session.settled()
        with pytest.raises(CallError) as caught:
            await engine.promote(session.id, address, confidence)
        assert message in str(caught.value)
        assert engine.store.groups() == []


async def test_of_several_messages_those_that_are_sure_enough_are_promoted() -> None:
    made = [Message("low", {"confidence": 0.1}), Message("high", {"confidence": 0.9})]
    async with Engine(db=None) as engine:
        session = await ended(engine, saying(*made, promote=[]))
        entries = await engine.promote(session.id, "say")
        assert [(entry.content, entry.number) for entry in entries] == [("high", 1)]


# The log


async def test_the_quarantine_log_has_all_that_was_emitted_in_logical_order() -> None:
    async with Engine(db=None) as engine:
        session = await ended(engine, Graph.loads(NESTED))
        log = session.quarantine()
        assert [(e.address, e.node_id, e.content) for e in log] == [
            ("Same", "Same", "outer"),
            ("Other", "Other", "not promoted"),
            ("Sub", "Sub", "inner"),
            ("Sub/Same", "Sub/Same", "not promoted either"),
            ("Sub/Other", "Sub/Other", "inner"),
        ]
        assert all(e.timestamp.endswith("Z") for e in log)


async def test_the_quarantine_log_of_a_fork_includes_the_past_it_shares() -> None:
    graph = Graph("chain")
    for name in ("a", "b"):
        graph.node(id=name)(lambda inp: [Message(inp.node_id), Message("more", {"n": 1})])
    graph.edge("a", "b")
    async with Engine(db=None) as engine:
        session = await ended(engine, graph)
        fork = await session.fork("b")
        await fork.settled()
        log = [(e.address, e.number, e.data, e.confidence) for e in fork.quarantine()]
        assert log == [
            ("a", 0, {}, None),
            ("a", 1, {"n": 1}, None),
            ("b", 0, {}, None),
            ("b", 1, {"n": 1}, None),
        ]
        (first, _) = await engine.promote(fork.id, "a")
        assert (first.session, first.group) == (fork.id, Group("g"))


async def test_the_log_grows_and_never_changes() -> None:
    graph = Graph("ask")
    graph.node(id="draft")(lambda inp: Message("x", {"confidence": 0.5}))
    graph.add("editor", "human", {"description": "good?"})
    graph.edge("draft", "editor")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.settled()
        before = session.quarantine()
        assert [(e.address, e.confidence) for e in before] == [("draft", 0.5)]
        await session.answer("yes")
        await session.settled()
        after = session.quarantine()
        assert after[: len(before)] == before
        assert [e.content for e in after] == ["x", "yes"]


def test_promoting_shares_nothing_with_the_message() -> None:
    store = MemoryStore()
    memory = WorkingMemory(store, MemorySpec())
    data = {"tags": ["a"]}
    memory.promote("s", GROUP, "x", "x", [Message("hi", data)])
    data["tags"].append("b")
    (entry,) = store.recall(Group("g"), 0.0, 9)
    assert entry.data == {"tags": ["a"]}
