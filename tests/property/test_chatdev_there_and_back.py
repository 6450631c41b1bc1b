"""Random ChatDev files run the same as they are, imported, and exported and back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from rondel import Engine, Graph, GraphError, builtin_registry
from rondel.engine.registry import Registry
from rondel.formats.chatdev_export import to_chatdev
from rondel.formats.council_export import to_council
from rondel.tools.functions_folder import register_folder

ANSWERS = 8
"""How often a person answers at most; some graphs would ask for ever."""

WORDS = st.sampled_from(["one two", "- a\n- b\n- c", '{"items": ["x", "y"]}', "done", "a"])
SPLITS: list[Any] = [
    None,
    {"type": "message"},
    {"type": "regex", "config": {"pattern": r"^- (.*)$", "group": 1, "multiline": True}},
    {"type": "regex", "config": {"pattern": r"(\w)(\w)?", "group": 2, "on_no_match": "empty"}},
    {"type": "regex", "config": {"pattern": "(?P<w>A)", "group": "w", "case_sensitive": False}},
    {"type": "json_path", "config": {"json_path": "items"}},
    {"type": "json_path", "config": {"json_path": "items.0"}},
]
PROCESSES: list[Any] = [
    None,
    {"type": "template", "config": {"template": "<{{ input }}>"}},
    {"type": "regex_extract", "config": {"pattern": r"\w+", "template": "", "multiple": True}},
    {"type": "regex_extract", "config": {"pattern": "zz", "on_no_match": "default", "group": ""}},
    {"type": "function", "config": {"name": "shout"}},
    {"type": "function", "config": {"name": "drop_short"}},
]
CONDITIONS: list[Any] = [
    *("true", None, "always_false", "is_long"),
    {"type": "function", "config": {"name": "is_long"}},
    {"type": "keyword", "config": {"any": ["a"], "none": ["zz"], "regex": []}},
]
FUNCTIONS = {
    "function_calling/sums.py": "def add(first: int, second: int) -> int: return first + second\n",
    "edge/conditions.py": "def is_long(data: str) -> bool: return len(data) > 4\n",
    "edge_processor/changes.py": (
        "def shout(data, _context): return data.upper()\n"
        "def drop_short(data, _context): return data if len(data) > 2 else None\n"
    ),
}
TOOLS: list[Any] = [
    [{"type": "function", "config": {"tools": [{"name": "add"}]}}],
    [{"type": "function", "prefix": "my", "config": {"tools": [{"name": "sums:All"}]}}],
]
MEMORY = [
    {"name": "board", "type": "blackboard", "config": {"max_items": 5}},
    {
        "name": "notes",
        "type": "simple",
        "config": {"embedding": {"provider": "simulated", "model": "m"}},
    },
]
FLAGS = ["trigger", "carry_data", "keep_message", "clear_context", "clear_kept_context"]
AGENTS = st.fixed_dictionaries(
    {"provider": st.just("simulated"), "name": st.just("m"), "role": st.just("You answer.")},
    optional={
        "input_mode": st.sampled_from(["messages", "prompt"]),
        "thinking": st.just({"type": "reflection", "config": {"reflection_prompt": "Again."}}),
        "memories": st.sampled_from(
            [
                [{"name": "board", "top_k": 2, "retrieve_stage": ["gen"]}],
                [{"name": "board", "read": False}],
                [{"name": "notes", "write": False}, {"name": "board"}],
            ]
        ),
        "tooling": st.sampled_from(TOOLS),
        "params": st.sampled_from([{"max_tokens": 20}, {"tool_loop_limit": 3}]),
        "retry": st.sampled_from([None, {"enabled": False}, {"max_attempts": 2}]),
    },
)


@st.composite
def nodes(draw: Any, name: str, deep: int) -> dict[str, Any]:
    """A node of any type that starts no program."""
    kinds = ["literal", "passthrough", "template", "loop_counter", "agent", "agent", "human"]
    kinds += ["subgraph"] * (deep > 0)
    kind = draw(st.sampled_from(kinds))
    config: dict[str, Any] = {
        "literal": {"content": draw(WORDS), "role": draw(st.sampled_from(["user", "assistant"]))},
        "passthrough": {"only_last_message": draw(st.booleans())},
        "template": {"template": "[{{ input | upper }}]"},
        "loop_counter": {"max_iterations": draw(st.integers(1, 3))},
        "agent": draw(AGENTS),
        "human": {"description": "Well?"},
    }.get(kind, {})
    if kind == "subgraph":
        config = {"type": "config", "config": draw(graphs(deep - 1))}
    return {
        "id": name,
        "type": kind,
        "config": config,
        "context_window": draw(st.sampled_from([0, 0, 2, -1])),
    }


@st.composite
def graphs(draw: Any, deep: int = 1) -> dict[str, Any]:
    """A graph of a few nodes: a chain, some more edges forward, and maybe a way back."""
    names = "abcde"[: draw(st.integers(2, 5))]
    edges = [_edge(draw, names[at], names[at + 1]) for at in range(len(names) - 1)]
    for source, target in draw(
        st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=2)
    ):
        if source < target or draw(st.integers(0, 2)) == 0:
            edges.append(_edge(draw, source, target))
    body: dict[str, Any] = {
        "id": "g",
        "start": [names[0]],
        "end": draw(st.sampled_from([[], [names[-1]]])),
        "memory": MEMORY,
        "nodes": [draw(nodes(name, deep)) for name in names],
        "edges": edges,
    }
    if draw(st.integers(0, 5)) == 0:
        body["is_majority_voting"] = True
    return body


def _edge(draw: Any, source: str, target: str) -> dict[str, Any]:
    edge: dict[str, Any] = {
        "from": source,
        "to": target,
        "condition": draw(st.sampled_from(CONDITIONS)),
        "process": draw(st.sampled_from(PROCESSES)),
    }
    for flag in FLAGS:
        if draw(st.integers(0, 4)) == 0:
            edge[flag] = draw(st.booleans())
    if draw(st.integers(0, 2)) == 0:
        mode = draw(st.sampled_from(["map", "tree"]))
        sizes = {"max_parallel": 2, **({"group_size": 2} if mode == "tree" else {})}
        split = draw(st.sampled_from(SPLITS))
        edge["dynamic"] = {"type": mode, "split": split, "config": sizes}
    return edge


def _ran(graph: Graph, task: str) -> tuple[Any, ...]:
    async def run() -> tuple[Any, ...]:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, task)
            result = await session.settled()
            for _ in range(ANSWERS):
                if result.status != "waiting":
                    break
                await session.answer("a")
                result = await session.settled()
            steps = [
                (step.address, [message["content"] for message in step.outputs])
                for step in session.steps()
            ]
            return result.status, result.output, steps

    return asyncio.run(run())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """One that knows the functions, as `--functions` reads them from a folder."""
    folder: Path = tmp_path_factory.mktemp("beside") / "functions"
    for name, text in FUNCTIONS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    registry = builtin_registry()
    register_folder(registry, folder)
    return registry


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=graphs(), task=WORDS)
def test_a_file_runs_the_same_as_it_is_imported_and_back(
    registry: Registry, body: dict[str, Any], task: str
) -> None:
    text = yaml.safe_dump({"graph": body}, sort_keys=False)
    try:
        here = Graph.loads(text, compat="chatdev", registry=registry)
    except GraphError:  # a loop that can be entered in two places at once
        reject()
    ran = _ran(here, task)
    assert _ran(Graph.from_document(here.document, registry=registry), task) == ran
    written = yaml.safe_dump(to_chatdev(here.document).document, sort_keys=False)
    assert _ran(Graph.loads(written, compat="chatdev", registry=registry), task) == ran
    council = json.dumps(to_council(here.document).document)
    returned = Graph.loads(council, compat="council", registry=registry)
    assert _ran(returned, task) == ran
