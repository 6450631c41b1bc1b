"""Whatever a document holds, loading gives a graph or a GraphError with places."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.errors import GraphError, Problem
from rondel.graph.load import from_document, loads
from rondel.graph.positions import parse
from tests.unit.graph.fakes import VOCABULARY
from tests.unit.graph.texts import FULL, INNER, inline

DOCUMENTS = [parse(FULL).data, parse(inline(INNER % ("passthrough", "{from: p, to: q}"))).data]
WORDS = st.sampled_from(["", "A", "true", "${X}", "${LIMIT}", "passthrough", "keyword", "from"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(value, key) for key, _ in items]
    for container, key in list(found):
        if isinstance(container[key], dict | list):
            found += places(container[key])
    return found


def problems(load: Callable[[], object]) -> list[Problem]:
    """What is wrong, if anything: any other exception is a bug."""
    try:
        load()
    except GraphError as error:
        return list(error.problems) or [Problem("")]
    return []


@given(st.sampled_from(DOCUMENTS), st.lists(st.tuples(st.integers(0), JUNK), max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_document_with_junk_in_it(document: Any, changes: list[tuple[int, Any]]) -> None:
    document = copy.deepcopy(document)
    for where, junk in changes:
        container, key = (all_places := places(document))[where % len(all_places)]
        container[key] = junk
    found = problems(lambda: from_document(document, VOCABULARY, environ={}))
    assert all(problem.message for problem in found)


@given(st.integers(0, len(FULL) - 1), st.text(alphabet="{}[]:-#&*!|>'\"%@`,? \n\ta1", max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_text_with_junk_in_it(where: int, junk: str) -> None:
    text = FULL[:where] + junk + FULL[where + 1 :]
    found = problems(lambda: loads(text, VOCABULARY, "g.yaml", environ={}))
    assert all(problem.line and problem.file == "g.yaml" for problem in found)


@given(st.text() | st.binary())
@settings(max_examples=200, deadline=None)
def test_any_text(text: str | bytes) -> None:
    found = problems(lambda: loads(text, VOCABULARY, environ={}))
    assert all(problem.message for problem in found)
