"""A message is never changed once made, and what has no data shares one empty object."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from rondel import Context, Graph, Message, run
from rondel.engine.emit import Emit

CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda data: data.__setitem__("x", 1),
    lambda data: data.__delitem__("x"),
    lambda data: data.update(x=1),
    lambda data: data.setdefault("x", 1),
    lambda data: data.pop("x", None),
    lambda data: data.popitem(),
    lambda data: data.clear(),
    lambda data: data.__ior__({"x": 1}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_data_of_a_message_without_any_cannot_be_changed(
    change: Callable[[dict[str, Any]], Any],
) -> None:
    with pytest.raises(TypeError, match="a message is never changed"):
        change(Message("x").data)
    assert Message("y").data == {}


def test_it_is_an_empty_object_like_any_other() -> None:
    data = Message("x").data
    assert data == {}
    assert isinstance(data, dict)
    assert json.dumps(data) == "{}"
    assert {**data, "a": 1} == data | {"a": 1} == {"a": 1}
    for made in (data.copy(), dict(data)):
        made["a"] = 1
    assert copy.deepcopy(data) == pickle.loads(pickle.dumps(data)) == {}
    assert Message("x") == Message("x", {})


def test_a_node_that_changes_what_it_was_given_fails_and_says_why() -> None:
    graph = Graph("g")
    graph.node(id="a")(lambda _: "text")

    @graph.node
    def b(inp: Context) -> str:
        inp.messages[0].data["mine"] = True
        return "done"

    graph.edge("a", "b")
    result = run(graph)
    assert result.status == "failed"
    assert "make it with its data: Message(text, data)" in result.message


def test_what_a_function_returned_may_be_used_again() -> None:
    graph, shared = Graph("g"), {"n": 0}

    @graph.node
    def count(inp: Context) -> dict[str, int]:
        shared["n"] = inp.round
        return shared

    graph.node(id="out")(lambda inp: str([message.data["n"] for message in inp.messages]))
    graph.edge("count", "count")
    graph.edge("count", "out", label="limit", trigger=True)
    graph.loop("count", max_rounds=3)
    assert run(graph).output == "[3]"
    assert shared == {"n": 3}


def test_outcomes_are_compared_by_what_they_hold_and_show_it() -> None:
    emitted = Emit((Message("x"),), 3)
    assert emitted == Emit((Message("x"),), 3)
    assert emitted != Emit((Message("x"),))
    assert emitted != "x"
    assert "Message(content='x'" in repr(emitted)
