"""Graphs observed on ChatDev behave the same after every translation, there and back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from rondel import Graph
from rondel.formats import translator
from rondel.formats.chatdev_export import to_chatdev
from rondel.graph.positions import parse
from tests.conformance.observed import CASES, compare


def _imported(text: str) -> Any:
    translation = translator("chatdev")(parse(text), "")
    assert not translation.problems
    return translation.data


def _written(document: Any) -> str:
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_imported_to_native_yaml_runs_as_observed(case: dict[str, Any]) -> None:
    graph = Graph.loads(_written(_imported(case["yaml"])))
    compare(graph, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_imported_and_exported_again_runs_as_observed(case: dict[str, Any]) -> None:
    native = _imported(case["yaml"])
    exported = to_chatdev(native)
    written = _written(exported.document)
    assert "x-rondel" not in written, "ChatDev can hold all of a graph that came from it"
    assert not exported.unseen
    assert _imported(written) == native
    compare(Graph.loads(written, compat="chatdev"), case)


def _plain(graph: dict[str, Any]) -> dict[str, Any]:
    """A graph without conditions that say no more than their absence."""
    edges = [
        {key: edge[key] for key in edge if key != "condition" or edge[key] not in (True, "true")}
        for edge in graph["edges"]
    ]
    return {**graph, "edges": edges}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_taken_as_native_comes_back_from_chatdev_the_same(case: dict[str, Any]) -> None:
    native = Graph.loads(case["yaml"]).document["graph"]
    written = _written(to_chatdev({"graph": native}).document)
    assert _plain(Graph.loads(written, compat="chatdev").document["graph"]) == _plain(native)
