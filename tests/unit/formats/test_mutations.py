"""However a foreign file is broken, it is answered with lines of its own, and never a traceback."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Graph, GraphError
from rondel.errors import Problem
from rondel.formats.council_export import to_council
from tests.conformance.observed import CASES, INVALID

COUNCIL = Path(__file__).parents[2] / "fixtures" / "council"
WORKFLOWS = [(file.read_text("utf-8"), "council") for file in sorted(COUNCIL.glob("*.json"))]
RICH = """\
vars: {MODEL: gpt-4o}
graph:
  id: rich
  start: [a]
  end: [s]
  memory: [{name: board, type: blackboard, config: {max_items: 5}}]
  nodes:
    - id: a
      type: agent
      config:
        name: ${MODEL}
        params: {temperature: 0.5}
        retry: {enabled: true, max_attempts: 3, min_wait_seconds: 1}
        memories: [{name: board, top_k: 2, retrieve_stage: [gen]}]
        thinking: {type: reflection, config: {reflection_prompt: Again.}}
        tooling: [{type: mcp_local, config: {command: uvx, args: [x]}}]
    - {id: t, type: loop_timer, config: {max_duration: 5, duration_unit: minutes}}
    - {id: p, type: python, config: {timeout_seconds: 5}}
    - id: s
      type: subgraph
      config:
        type: config
        config:
          id: inner
          start: [l]
          nodes: [{id: l, type: loop_counter, config: {max_iterations: 2}}]
          edges: []
      x-rondel: {description: of it}
  edges:
    - from: a
      to: t
      process: {type: regex_extract, config: {pattern: x, dotall: true}}
      dynamic: {type: map, split: {type: regex, config: {pattern: y}}, config: {max_parallel: 2}}
    - {from: t, to: p, condition: {type: keyword, config: {any: [a], regex: ['b+']}}}
    - {from: p, to: s, condition: always_false, x-rondel: {label: exit}}
  x-rondel: {loops: {}, edges: [{at: 0, from: a, to: s}], without: [dialect]}
"""
RICHER = """\
graph:
  id: richer
  start: [a]
  end: []
  memory:
    - name: notes
      type: simple
      config:
        memory_path: auto
        embedding: {provider: simulated, model: m, params: {use_chunking: true}}
    - name: papers
      type: file
      config:
        file_sources: [{path: nowhere, file_types: [.md], recursive: false, encoding: utf-8}]
  nodes:
    - id: a
      type: agent
      config:
        name: gpt-4o
        memories: [{name: notes, similarity_threshold: 0.5}, {name: papers, write: false}]
        skills: {enabled: true, allow: [{name: tea}, milk]}
        tooling:
          - {type: function, prefix: p, config: {tools: [{name: 'files:All'}], timeout: 1}}
          - {type: mcp_local, config: {command: x, inherit_env: false, startup_timeout: 3, cwd: y}}
          - {type: mcp_remote, prefix: '', config: {server: 'http://localhost:1/', cache_ttl: 1}}
        params: {tool_loop_limit: 3}
    - {id: t, type: template, config: {template: '{{ input | upper }}'}}
    - {id: p, type: python, config: {timeout_seconds: 5, args: [-O], env: {A: b}, encoding: utf-8}}
    - {id: h, type: human, config: {description: Well?}}
  edges:
    - {from: a, to: t, dynamic: {type: tree, split: null, config: {group_size: 2}}}
    - from: t
      to: p
      process: {type: regex_extract, config: {pattern: x, template: '', group: ''}}
      dynamic:
        type: map
        split: {type: regex, config: {pattern: '(a)(?P<b>c)', group: b, on_no_match: empty}}
        config: null
    - {from: p, to: h, process: {type: template, config: {template: '{% set x = 1 %}{{ x }}'}}}
    - {from: h, to: a, condition: need_more, process: {type: function, config: {name: change}}}
    - {from: h, to: t, dynamic: {type: map, split: {type: json_path, config: {json_path: a.0}}}}
"""
VOTE = """\
graph:
  id: vote
  is_majority_voting: true
  start: [a, b]
  end: b
  nodes:
    - {id: a, type: literal, config: {content: x, role: assistant}}
    - {id: b, type: agent, config: {name: gpt-4o, provider: openai}}
  edges: [{from: a, to: b}]
"""
CHECKED: dict[str, Any] = {
    "start_node_id": "s",
    "nodes": {
        "s": {"type": "start", "next_ids": ["f", "v"]},
        "f": {
            "type": "fact_check",
            "next_ids": ["c"],
            "properties": {"verify_threshold": 0.5, "search_sources": ["web"]},
        },
        "v": {"type": "vote", "next_ids": ["c", "e"], "properties": {"agents": ["A"]}},
        "c": {
            "type": "context_synth",
            "next_ids": ["e"],
            "properties": {"max_recent_rounds": 2},
        },
        "e": {"type": "end", "properties": {"prompt": "Report."}},
    },
}
JUDGED = {
    "workflow_uuid": "6ba7b810",
    "start_node_id": "s",
    "nodes": {
        "s": {"type": "start", "next_ids": ["a"]},
        "a": {
            "type": "agent",
            "name": "Adjudicator",
            "next_ids": ["v"],
            "properties": {
                "agent_uuid": "x",
                "output_format": "structured_verdict",
                "model_config": {"provider": "openai", "model": "m", "temperature": 0.5},
                "tools": ["web"],
            },
        },
        "v": {"type": "vote", "next_ids": ["r", "p"], "properties": {"threshold": 0.5}},
        "p": {"type": "parallel", "next_ids": ["r"]},
        "r": {
            "type": "human_review",
            "next_ids": ["l"],
            "properties": {"actions": ["apply", "exit"], "timeout_minutes": 5, "allow_skip": False},
        },
        "l": {
            "type": "loop",
            "next_ids": ["a", "e"],
            "properties": {"max_rounds": 3, "exit_on_score": 90, "exit_condition": "consensus"},
        },
        "e": {"type": "end", "properties": {"summary_prompt": "Sum up.", "model": "m"}},
    },
}
OWN = """\
vars: {A: b}
graph:
  id: own
  start: [a, b]
  end: [c]
  loops: {a: {max_rounds: 3}}
  nodes:
    - {id: a, type: agent, config: {role: Write.}, timeout: 5}
    - {id: b, type: literal, config: {content: x}}
    - {id: l, type: loop, config: {max_rounds: 2}}
    - {id: c, type: human, config: {actions: [go, exit], timeout: 2h}}
  edges:
    - {from: a, to: l}
    - {from: b, to: l, trigger: false}
    - {from: l, to: a, label: continue}
    - {from: l, to: c, label: exit, condition: {type: expr, config: {expr: 'round > 0'}}}
"""
RETURNED = to_council(Graph.loads(OWN).document).document
FILES = [
    (RICH, "chatdev"),
    (json.dumps(CHECKED, indent=2), "council"),
    *WORKFLOWS,
    (json.dumps(JUDGED, indent=2), "council"),
    (json.dumps(RETURNED, indent=2), "council"),
    (RICHER, "chatdev"),
    (VOTE, "chatdev"),
    *((case["yaml"], "chatdev") for case in [*CASES[::7], *INVALID]),
]
SOUND = ["rich", "checked", "debate", "optimize", "judged", "returned"]
DOCUMENTS = [(yaml.load(text, yaml.CSafeLoader), format_) for text, format_ in FILES]
ODD: list[Any] = [
    *(None, True, -1, 0, 10**30, 1.5, float("inf"), "", " ", "x", "${NOT_SET}", "a/b[1]"),
    *([], {}, [None], [[]], {"": None}, {"type": "keyword"}, {"from": "a", "to": {}}, "\n"),
    *({"x-rondel": 3}, {"config": {"config": []}}, ["a", "a"], [{"id": "a"}, {"id": "a"}]),
]


def _answered(text: str, format_: str) -> None:
    """Assert that the text loads, or is refused line by line."""
    lines = max(1, len(text.splitlines()))
    try:
        told = Graph.loads(text, file="broken", compat=format_).warnings
    except GraphError as error:
        told = error.problems or (Problem("nothing was told"),)
    for problem in told:
        assert problem.file == "broken"
        assert problem.line is not None, problem
        assert 1 <= problem.line <= lines, problem
        assert problem.message.strip()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        here = (*path, key)
        found += _places(inner, here) if isinstance(inner, dict | list) else [here]
    return found


def _inside(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


CHANGES = ("replace", "remove", "rename", "double")


def _changed(document: Any, path: tuple[Any, ...], change: str, odd: Any) -> Any:
    changed = copy.deepcopy(document)
    around, last = _inside(changed, path[:-1]), path[-1]
    match change, around:
        case "remove", _:
            del around[last]
        case "rename", dict():
            around[f"{last}x"] = around.pop(last)
        case "double", list():
            around.append(copy.deepcopy(around[last]))
        case _:
            around[last] = odd
    return changed


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_file_with_wrong_values_is_answered_by_line(data: st.DataObject) -> None:
    document, format_ = data.draw(st.sampled_from(DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_places(document)))
        change = data.draw(st.sampled_from(CHANGES))
        document = _changed(document, path, change, data.draw(st.sampled_from(ODD)))
        if not document or not _places(document):
            break
    if data.draw(st.booleans()):
        _answered(json.dumps(document, indent=1), format_)
    else:
        _answered(yaml.dump(document, Dumper=yaml.CSafeDumper, allow_unicode=True), format_)


LETTERS = "{}[]:,-#&*!|>'\"%@`\t\x00\ud7ff\ufeffa1 \n"


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_file_with_wrong_letters_is_answered_by_line(data: st.DataObject) -> None:
    text, format_ = data.draw(st.sampled_from(FILES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 20))
        odd = data.draw(st.text(LETTERS, max_size=3))
        text = text[:start] + odd + text[end:]
    _answered(text, format_)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(FILES), st.data())
def test_a_file_that_stops_half_way_is_answered_by_line(
    file: tuple[str, str], data: st.DataObject
) -> None:
    text, format_ = file
    _answered(text[: data.draw(st.integers(0, len(text)))], format_)


@pytest.mark.parametrize("agents", [[{"a": 1}], "A", 3, [None, "A"], {"A": [1]}])
def test_voters_of_any_shape_are_answered_by_line(agents: Any) -> None:
    nodes = copy.deepcopy(CHECKED["nodes"])
    nodes["v"]["properties"]["agents"] = agents
    _answered(json.dumps({**CHECKED, "nodes": nodes}, indent=1), "council")


@pytest.mark.parametrize("format_", ["chatdev", "council"])
@pytest.mark.parametrize("text", ["", "\n\n", "3", "text", "[]", "[1, 2]", "null", "{}", "graph:"])
def test_a_file_that_is_no_graph_is_answered_in_one_line(text: str, format_: str) -> None:
    _answered(text, format_)
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, file="broken", compat=format_)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(("text", "format_"), FILES[:6], ids=SOUND)
def test_the_files_that_are_broken_here_are_right_before(text: str, format_: str) -> None:
    assert Graph.loads(text, compat=format_).spec.nodes
