"""Every example of the reference works: fields, types of edges, expressions, events, names."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import rondel
from build_docs import errors, events, fields
from build_docs.python_examples import EXAMPLES
from rondel import Graph, Registry, builtin_registry
from rondel.conditions.expression import FUNCTIONS, MACROS, Expression
from rondel.errors import RondelError, code_of
from rondel.server.replies import explain

DOCS = Path(__file__).parents[3] / "docs"
ALREADY = {"existsOne"}
"""Other spellings of what has an example."""

BASE: dict[str, Any] = {
    "graph": {
        "id": "tea",
        "start": "Writer",
        "end": "Final",
        "loops": {"Writer": {"max_rounds": 2}},
        "nodes": [
            {
                "id": "Writer",
                "type": "agent",
                "config": {"provider": "scripted", "answers": ['Tea. {"items": [1, 2]}']},
            },
            {
                "id": "Critic",
                "type": "agent",
                "config": {
                    "provider": "scripted",
                    "answers": [
                        {"content": "Draft 1", "data": {"score": 60, "review": {"total": 60}}},
                        {"content": "Draft 2", "data": {"score": 85, "review": {"total": 85}}},
                    ],
                },
            },
            {"id": "Final", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Critic"},
            {"from": "Critic", "to": "Writer"},
            {"from": "Writer", "to": "Final", "condition": False},
        ],
    }
}
REQUIRED = {
    "Price": {"input": 1.0, "output": 1.0},
    "Patience": {"rounds": 2},
    "Regression": {"drop": 5},
    "ConditionCall": {"type": "keyword", "config": {"none": ["x"]}},
    "ProcessCall": {"type": "regex_extract", "config": {"pattern": "x"}},
    "Dynamic": {"type": "map"},
    "SplitCall": {"type": "regex", "config": {"pattern": "\\w+"}},
    "condition keyword": {"any": ["tea"]},
    "condition function": {"name": "is_good"},
    "process function": {"name": "shorten"},
    "split regex": {"pattern": "(\\w)(\\w+)"},
    "split json_path": {"path": "$.items"},
    "process regex_extract": {"pattern": "(x)"},
}
"""What a part needs besides the key of the example."""

CASES = [
    (section.key, section.place, key, value)
    for section in (*fields.FILE, *fields.EDGES)
    for key, value in fields.examples()[section.key].items()
]
TYPES = [
    (name, key, value)
    for name, keys in fields.examples().items()
    if " " in name
    for key, value in keys.items()
]


def registry() -> Registry:
    known = builtin_registry()
    known.function("is_good", bool)
    known.function("shorten", lambda given: str(getattr(given, "text", given))[:10])
    return known


def put(document: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Merge a mapping into a document at a place; what is on the way is made."""
    for step in place[:-1]:
        document = document[step] if isinstance(step, int) else document.setdefault(step, {})
    last = place[-1]
    known = document[last] if isinstance(last, int) else document.get(last)
    document[last] = {**known, **value} if isinstance(known, dict) else value


def runs(document: dict[str, Any]) -> None:
    graph = Graph.loads(json.dumps(document), registry=registry())
    result = rondel.run(graph, "tea")
    assert result.status in ("completed", "bounded", "paused"), result.message


@pytest.mark.parametrize(("model", "place", "key", "value"), CASES)
def test_the_example_of_a_field_runs(
    model: str, place: tuple[str | int, ...], key: str, value: Any
) -> None:
    document = copy.deepcopy(BASE)
    if model == "Dynamic" or (place and "dynamic" in place):
        put(document, (*fields.EDGE, "dynamic"), {"type": "map"})
    part = {**REQUIRED.get(model, {}), key: value}
    if place:
        put(document, place, part)
    else:
        document.update(part)
    runs(document)


@pytest.mark.parametrize(("name", "key", "value"), TYPES)
def test_the_example_of_a_condition_a_process_or_a_split_runs(
    name: str, key: str, value: Any
) -> None:
    kind, type_ = name.split()
    document = copy.deepcopy(BASE)
    part = {"type": type_, "config": {**REQUIRED.get(name, {}), key: value}}
    if kind == "split":
        part = {"type": "map", "split": part}
    put(document, (*fields.EDGE, "dynamic" if kind == "split" else kind), part)
    if kind == "condition":
        put(document, fields.EDGE, {"condition": {"type": type_, "config": part["config"]}})
        Graph.loads(json.dumps(document), registry=registry()).plan()
        return
    runs(document)


def test_every_field_has_an_example_and_a_meaning() -> None:
    for section in (*fields.FILE, *fields.EDGES):
        for name, field in section.model.model_fields.items():
            assert (field.alias or name) in fields.examples()[section.key]
            assert field.description, f"{section.key}.{name}"
    known = builtin_registry()
    for kind in fields.KINDS:
        for name in known.names(kind):
            for key, field in known.config_model(kind, name).model_fields.items():
                assert field.description, f"{kind} {name}: {key}"


ROW = re.compile(r"^\| `(.+)` \| `(\{.*\})` \| `(true|false)` \|$", re.MULTILINE)
EXPRESSIONS = ROW.findall((DOCS / "reference" / "expressions.md").read_text("utf-8"))


@pytest.mark.parametrize(("source", "over", "gives"), EXPRESSIONS)
def test_an_expression_gives_what_the_page_says(source: str, over: str, gives: str) -> None:
    source, values = source.replace(r"\|", "|"), json.loads(over)
    names = ("data", "text", "round", "score")
    assert Expression(source, names)(values) is (gives == "true")


def test_every_function_of_expressions_has_an_example() -> None:
    shown = " ".join(source for source, _, _ in EXPRESSIONS)
    named = set(re.findall(r"\w+", shown))
    assert {*FUNCTIONS, *MACROS} - named - ALREADY == set()


def test_every_event_is_documented_with_all_its_data() -> None:
    told, texts = events.told(), events.texts()
    assert set(told) == set(texts) - events.RARE
    for name, shown in told.items():
        keys = {key for fields in shown for key in fields["data"]}
        assert keys <= set(texts[name]["data"]), name


@pytest.mark.parametrize("name", rondel.__all__)
def test_the_example_of_a_python_name_runs(name: str) -> None:
    ran = EXAMPLES[name]()
    if inspect.iscoroutine(ran):
        asyncio.run(ran)


def test_every_error_has_a_section_and_says_where_it_is() -> None:
    page = (DOCS / "reference" / "errors.md").read_text("utf-8")
    for code in {*errors.classes(), *errors.kinds()}:
        assert f"{{ #{code} }}" in page
    for kind in errors.classes().values():
        made = kind([]) if code_of(kind) == "graph_error" else kind("what went wrong")
        assert isinstance(made, RondelError)
        body = json.loads(bytes(explain(made).body))
        anchor = body["help"].split("#")[1]
        assert body["help"] == f"docs/reference/errors.md#{anchor}"
        assert f"{{ #{anchor} }}" in page
