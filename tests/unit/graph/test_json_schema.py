"""The JSON Schema says what the loader says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import jsonschema
import pytest
from pydantic import BaseModel

from rondel.errors import GraphError
from rondel.graph.json_schema import json_schema
from rondel.graph.load import loads
from rondel.graph.positions import parse
from rondel.graph.schema import Document
from tests.unit.graph.fakes import VOCABULARY, FakeVocabulary
from tests.unit.graph.texts import (
    FULL,
    INNER,
    SEED_REVIEW_LOOP,
    graph,
    including,
    inline,
    nodes,
)

SCHEMA = json_schema(VOCABULARY)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

VALID = {
    "seed": SEED_REVIEW_LOOP,
    "full": FULL,
    "inner": inline(INNER % ("passthrough", "{from: p, to: q}")),
    "empty sections": "vars:\n" + graph(nodes("a"), "", "  start:\n  loops:\n  limits:\n"),
    "variables": "vars: {N: 2, M: fail}\n"
    + graph("[{id: a, type: loop_counter, config: {max_iterations: '${N}'}, on_error: '${M}'}]"),
    "json numbers": graph("[{id: a, type: passthrough, timeout: 1.5, retry: {min_wait: 0}}]"),
}
INVALID = {
    "unknown key": graph(nodes("a"), rest="  xyz: 1\n"),
    "unknown key in a node": graph("[{id: a, type: passthrough, confg: {}}]"),
    "unknown key in a config": graph("[{id: a, type: passthrough, config: {x: 1}}]"),
    "unknown key deep in a config": graph("[{id: a, type: agent, config: {params: {x: 1}}}]"),
    "unknown type": graph("[{id: a, type: agnet}]"),
    "unknown condition": graph(nodes("a", "b"), "[{from: a, to: b, condition: {type: x}}]"),
    "unknown process": graph(nodes("a", "b"), "[{from: a, to: b, process: {type: x}}]"),
    "word for a condition": graph(nodes("a", "b"), "[{from: a, to: b, condition: maybe}]"),
    "null for a condition": graph(nodes("a", "b"), "[{from: a, to: b, condition: }]"),
    "word for a boolean": graph(nodes("a", "b"), "[{from: a, to: b, trigger: yes}]"),
    "no target": graph(nodes("a"), "[{from: a}]", "  end: a\n"),
    "no id": f"graph:\n  nodes: {nodes('a')}\n",
    "no nodes": graph("[]"),
    "no config": graph("[{id: a, type: literal}]"),
    "value too small": graph("[{id: a, type: loop_counter, config: {max_iterations: 0}}]"),
    "bad duration": graph("[{id: a, type: passthrough, timeout: 10 minutes}]"),
    "no time": graph("[{id: a, type: passthrough, timeout: 0}]"),
    "bad id": graph("[{id: a/b, type: passthrough}]"),
    "blank id": graph("[{id: ' ', type: passthrough}]"),
    "bad join": graph("[{id: a, type: passthrough, join: some}]"),
    "bad exit": graph(nodes("a"), rest="  loops: {a: {exit: later}}\n"),
    "bad window": graph("[{id: a, type: passthrough, context_window: -2}]"),
    "bad version": f"version: 2\n{graph(nodes('a'))}",
    "bad variable": f"vars: {{a-b: 1}}\n{graph(nodes('a'))}",
    "list variable": f"vars: {{A: [1]}}\n{graph(nodes('a'))}",
    "unknown key in an inner graph": inline("{id: i, nodes: [{id: p, type: passthrough, x: 1}]}"),
}


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("case", VALID)
def test_what_loads_is_valid(case: str) -> None:
    loads(VALID[case], VOCABULARY, environ={})
    assert list(VALIDATOR.iter_errors(parse(VALID[case]).data)) == []


def test_a_graph_in_a_file_is_valid() -> None:
    assert VALIDATOR.is_valid(parse(including("one.yaml")).data)


@pytest.mark.parametrize("case", INVALID)
def test_what_does_not_load_is_not_valid(case: str) -> None:
    with pytest.raises(GraphError):
        loads(INVALID[case], VOCABULARY, environ={})
    assert not VALIDATOR.is_valid(parse(INVALID[case]).data)


def models_in(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        for field in kind.model_fields.values():
            yield from models_in(field.annotation)
    for arg in get_args(kind):
        yield from models_in(arg)


def keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_key_of_the_document_is_in_it_with_a_description() -> None:
    for model in models_in(Document):
        schema = SCHEMA if model is Document else SCHEMA["$defs"][model.__name__]
        assert set(schema["properties"]) == keys(model)
        assert schema["additionalProperties"] is False
        for key, value in schema["properties"].items():
            assert value.get("description"), f"{model.__name__}.{key}"


def test_every_config_is_in_it() -> None:
    for kind, entries in FakeVocabulary.ENTRIES.items():
        for name, model in entries.items():
            assert set(SCHEMA["$defs"][f"{kind}.{name}"]["properties"]) == keys(model)
