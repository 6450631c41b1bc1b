"""ChatDev's memories, skills and thinking: what works here, and what is refused by name."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from rondel import Engine, Graph, GraphError
from rondel.formats.chatdev_export import to_chatdev
from rondel.formats.referenced_files import nothing_beside

GRAPH = """\
graph:
  id: board
  start: [first]
  end: [last]
  memory:
    - name: board
      type: blackboard
      config:
        max_items: 5
    - {name: unused, type: simple, config: {}}
  nodes:
    - id: first
      type: agent
      config:
        name: gpt-4o
        memories: [{name: board, read: false}]
    - id: writer
      type: agent
      context_window: -1
      config:
        name: gpt-4o
        role: You write.
        thinking: {type: reflection, config: {reflection_prompt: Make it better.}}
        memories: [{name: board, top_k: 2}]
    - {id: guard, type: loop_counter, config: {max_iterations: 3}}
    - {id: last, type: passthrough, config: {}}
  edges:
    - {from: first, to: writer}
    - {from: writer, to: writer, condition: {type: keyword, config: {none: [done]}}}
    - {from: writer, to: guard}
    - {from: guard, to: writer}
    - {from: guard, to: last}
"""


def _agents(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """All agents of a graph and of those in it."""
    found = [node for node in graph["nodes"] if node["type"] == "agent"]
    for node in graph["nodes"]:
        if node["type"] == "subgraph":
            found += _agents(node["config"]["graph"])
    return found


def _scripted(document: dict[str, Any]) -> dict[str, Any]:
    """The document with agents that say who they are and how many entries they were shown."""
    scripted = copy.deepcopy(document)
    for agent in _agents(scripted["graph"]):
        name = agent["id"]
        blind = {"when": "!has(data.history_context)", "answer": f"{name} saw none"}
        rules = [
            {"when": f"size(data.history_context) == {n}", "answer": f"{name} saw {n}"}
            for n in range(4)
        ]
        agent["config"] = {"provider": "scripted", "rules": [blind, *rules]}
    return scripted


async def _steps(document: dict[str, Any]) -> list[tuple[str, list[str]]]:
    async with Engine(db=None) as engine:
        session = await engine.start(Graph.from_document(document), "a task")
        result = await session.settled()
        assert result.status == "completed"
        return [
            (step.node_id, [message["content"] for message in step.outputs])
            for step in session.steps()
        ]


def _loaded(text: str = GRAPH) -> Graph:
    return Graph.loads(text, file="board.yaml", compat="chatdev")


def test_agents_read_what_was_written_on_the_blackboard_before() -> None:
    steps = asyncio.run(_steps(_scripted(_loaded().document)))
    said = [said for node, said in steps if node == "writer/answer"]
    assert said == [["answer saw 1"], ["answer saw 2"], ["answer saw 2"]], "the newest two at most"


def test_a_reflection_takes_the_place_of_the_answer_and_reads_the_blackboard_too() -> None:
    steps = asyncio.run(_steps(_scripted(_loaded().document)))
    said = [said for node, said in steps if node == "writer"]
    assert said == [["reflection saw 1"], ["reflection saw 2"], ["reflection saw 2"]]


def test_a_stage_that_does_not_retrieve_sees_nothing() -> None:
    text = GRAPH.replace("top_k: 2", "top_k: 2, retrieve_stage: [gen]")
    steps = asyncio.run(_steps(_scripted(_loaded(text).document)))
    assert ("writer/reflection", ["reflection saw none"]) in steps
    assert ("writer/answer", ["answer saw 1"]) in steps


def test_an_agent_that_does_not_write_leaves_the_blackboard_as_it_is() -> None:
    text = GRAPH.replace("top_k: 2", "top_k: 2, write: false")
    steps = asyncio.run(_steps(_scripted(_loaded(text).document)))
    assert [said for node, said in steps if node == "writer/answer"] == [["answer saw 1"]] * 3


def test_the_reflection_is_told_the_role_the_input_and_the_answer() -> None:
    graph = _loaded().document["graph"]
    [_, reflection] = [agent for agent in _agents(graph) if agent["id"] != "first"]
    assert "SYSTEM: You write." in reflection["config"]["role"]
    assert reflection["config"]["role"].endswith("Make it better.")
    assert (reflection["config"]["name"], reflection["config"]["input_mode"]) == (
        "gpt-4o",
        "prompt",
    )
    steps = asyncio.run(_steps(_scripted(_loaded().document)))
    assert [node for node, _ in steps][:6] == [
        *("first", "writer", "writer/heard", "writer/recall", "writer/answer"),
        "writer/reflection",
    ]


def test_an_agent_with_a_memory_comes_back_from_chatdev_the_same() -> None:
    graph = _scripted(_loaded().document)
    written = yaml.safe_dump(to_chatdev(graph).document, sort_keys=False)
    back = Graph.loads(written, compat="chatdev").document
    assert back["graph"]["memory"] == graph["graph"]["memory"]
    inner = back["graph"]["nodes"][1]["config"].pop("config")
    back["graph"]["nodes"][1]["config"] = {"graph": inner}
    assert asyncio.run(_steps(back)) == asyncio.run(_steps(graph))


def test_a_store_that_nobody_uses_is_left_out_with_a_warning() -> None:
    told = [(warning.line, warning.message) for warning in _loaded().warnings]
    assert (10, "no agent uses the memory 'unused'") in told


REFUSED = {
    "a store of another company": (
        ("type: blackboard", "type: mem0"),
        [(16, "'board' of type 'mem0'"), (24, "'board' of type 'mem0'")],
    ),
    "an unknown store": (
        ("{name: board, top_k: 2}", "{name: bord}"),
        [(24, "there is no memory 'bord'")],
    ),
    "a wrong size": (("max_items: 5", "max_items: 0"), [(9, "")]),
    "a wrong number of entries": (("top_k: 2", "top_k: none"), [(24, "top_k")]),
    "an unknown way of thinking": (("type: reflection", "type: chain"), [(23, "'chain'")]),
    "a wrong model parameter of a thinking agent": (
        ("role: You write.", "params: 3"),
        [(22, ""), (22, "")],
    ),
}


@pytest.mark.parametrize(("change", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_counterpart_is_refused_by_name_and_line(
    change: tuple[str, str], expected: list[tuple[int, str]]
) -> None:
    with pytest.raises(GraphError) as caught:
        _loaded(GRAPH.replace(*change))
    problems = caught.value.problems
    assert [problem.line for problem in problems] == [line for line, _ in expected]
    for problem, (_, words) in zip(problems, expected, strict=True):
        assert words in problem.message


def test_a_memory_of_an_inner_graph_is_the_sessions_too() -> None:
    inner = yaml.safe_load(GRAPH)["graph"]
    outer = {
        "id": "outer",
        "start": ["s"],
        "nodes": [{"id": "s", "type": "subgraph", "config": {"type": "config", "config": inner}}],
    }
    graph = Graph.loads(yaml.safe_dump({"graph": outer}), compat="chatdev").document
    steps = asyncio.run(_steps(_scripted_inside(graph)))
    said = dict(steps)
    assert said["s/writer/answer"] == ["answer saw 2"]


def _scripted_inside(document: dict[str, Any]) -> dict[str, Any]:
    body = document["graph"]["nodes"][0]["config"]
    inner = _scripted({"graph": body["config"]})["graph"]
    changed = copy.deepcopy(document)
    changed["graph"]["nodes"][0]["config"] = {"graph": inner}
    return changed


EMBEDDED = """\
graph:
  id: embedded
  start: [a]
  memory:
    - name: notes
      type: KIND
      config:
        SETTINGS
        embedding: {provider: simulated, model: any, params: {use_chunking: true}}
  nodes:
    - id: a
      type: agent
      config:
        name: gpt-4o
        memories: [{name: notes, top_k: 1, similarity_threshold: 0.1, retrieve_stage: [gen]}]
  edges: []
"""


def _recalled(document: dict[str, Any], task: str) -> list[str]:
    """What the memory node of an agent hands it."""
    [agent] = _agents(document["graph"])
    agent["config"] = {"provider": "scripted", "answers": ["tea is grown on hills"]}

    async def run() -> list[str]:
        async with Engine(db=None) as engine:
            graph = Graph.from_document(document)
            for _ in range(2):
                session = await engine.start(graph, {"task": task, "group_id": "g"})
                await session.settled()
            steps = {step.node_id: step for step in session.steps()}
            history = steps["a/recall"].outputs[0]["data"]["history_context"]
            return [entry["content"] for entry in history]

    return asyncio.run(run())


def test_a_simple_memory_is_searched_by_meaning_and_shared_by_a_group() -> None:
    settings = "memory_path: memories/notes.json"
    text = EMBEDDED.replace("KIND", "simple").replace("SETTINGS", settings)
    graph = Graph.loads(text, compat="chatdev").document
    assert _recalled(copy.deepcopy(graph), "where is tea grown?") == ["tea is grown on hills"]
    assert _recalled(copy.deepcopy(graph), "quantum chromodynamics") == []


def test_a_simple_memory_without_an_embedding_keeps_nothing_as_there() -> None:
    text = GRAPH.replace("type: blackboard", "type: simple")
    graph = Graph.loads(text, compat="chatdev")
    assert "memory" not in graph.document["graph"]
    assert any("has no embedding" in warning.message for warning in graph.warnings)


def test_a_file_memory_becomes_documents_of_the_graph(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "tea.md").write_text("Tea is made of leaves and hot water.")
    (folder / "iron.md").write_text("Iron melts at 1538 degrees.")
    (folder / "other.txt").write_text("Tea tea tea.")
    settings = "file_sources: [{path: papers, file_types: [.md]}]"
    file = tmp_path / "flow.yaml"
    file.write_text(EMBEDDED.replace("KIND", "file").replace("SETTINGS", settings))
    graph = Graph.load(file, compat="chatdev").document
    for each in folder.iterdir():
        each.unlink()
    found = _recalled(graph, "tea: what is it made of?")
    assert found == ["Tea is made of leaves and hot water."]


def test_files_that_are_missing_are_told(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    settings = "file_sources: [{path: nowhere}]"
    file.write_text(EMBEDDED.replace("KIND", "file").replace("SETTINGS", settings))
    graph = Graph.load(file, compat="chatdev")
    [told] = [each for each in graph.warnings if "nothing is read" in each.message]
    assert "'nowhere'" in told.message
    assert told.line == 8


def test_a_server_reads_no_file_for_a_workflow(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the password is tea")
    settings = f"file_sources: [{{path: {tmp_path / 'secret.md'}}}]"
    text = EMBEDDED.replace("KIND", "file").replace("SETTINGS", settings)
    with nothing_beside():
        graph = Graph.loads(text, compat="chatdev")
    assert "password" not in yaml.safe_dump(graph.document)
    assert any("not read here" in warning.message for warning in graph.warnings)


SKILLED = """\
graph:
  id: skilled
  start: [a]
  nodes:
    - id: a
      type: agent
      config:
        name: gpt-4o
        role: You help.
        skills: {enabled: true, allow: [{name: tea}]}
  edges: []
"""


def test_skills_are_read_as_documents_of_the_role(tmp_path: Path) -> None:
    (tmp_path / "skills" / "tea").mkdir(parents=True)
    (tmp_path / "skills" / "tea" / "SKILL.md").write_text("---\nname: tea\n---\nWarm the pot.")
    (tmp_path / "flows").mkdir()
    file = tmp_path / "flows" / "flow.yaml"
    file.write_text(SKILLED)
    role = Graph.load(file, compat="chatdev").document["graph"]["nodes"][0]["config"]["role"]
    assert role.startswith("You help.")
    assert "Warm the pot." in role


def test_a_skill_that_is_missing_is_told_with_where_it_was_looked_for() -> None:
    graph = Graph.loads(SKILLED, compat="chatdev")
    [told] = [each for each in graph.warnings if "skill" in each.message]
    assert "there is no skill 'tea': looked for" in told.message
