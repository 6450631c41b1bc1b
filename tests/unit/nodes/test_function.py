from __future__ import annotations

import inspect
import threading
from enum import StrEnum
from typing import Any

import pytest

from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Nothing, Question, Suspend
from rondel.errors import CallError, StepFailed
from rondel.nodes.calling import NOTHING, FunctionProcessor, function_processor
from tests.unit.nodes.context import FakeContext, of_text
from tests.unit.nodes.running import problems, registry_with, step


class Colour(StrEnum):
    RED = "red"


def returning(result: Any) -> FunctionProcessor:
    return function_processor(lambda inp: result)


@pytest.mark.parametrize(
    ("result", "messages"),
    [
        ("text", [Message("text")]),
        ("", [Message("")]),
        (Colour.RED, [Message("red")]),
        ({"score": 1}, [Message("", {"score": 1})]),
        (None, [Message()]),
        (Message("as it is", {"a": 1}, "user"), [Message("as it is", {"a": 1}, "user")]),
        (
            ["a", {"b": 1}, Message("c"), None],
            [Message("a"), Message("", {"b": 1}), Message("c"), Message()],
        ),
    ],
)
def test_what_a_function_returns_becomes_messages(result: Any, messages: list[Message]) -> None:
    async def later(inp: Any) -> Any:
        return result

    for processor in (returning(result), function_processor(later)):
        outcome = step(processor, FakeContext())
        assert isinstance(outcome, Emit)
        assert list(outcome.messages) == messages


def test_a_tuple_is_refused_with_what_to_return() -> None:
    with pytest.raises(
        StepFailed, match=r"returned a tuple; return a list .* Message\(text, data\)"
    ):
        step(returning(("text", {"score": 1})), FakeContext())


@pytest.mark.parametrize("result", [NOTHING, []])
def test_nothing_and_an_empty_list_fire_no_edge(result: Any) -> None:
    assert step(returning(result), FakeContext()) == Nothing()


@pytest.mark.parametrize(
    "outcome", [Emit([Message("x")], state=3), Nothing(state=4), Suspend(Question("?"))]
)
def test_an_outcome_stays_as_it_is(outcome: Any) -> None:
    assert step(returning(outcome), FakeContext()) is outcome


def test_the_function_sees_the_context() -> None:
    processor = function_processor(lambda inp: f"{inp.round}: {inp.text}")
    assert step(processor, of_text("draft", round=2)) == Emit((Message("2: draft"),))


def test_a_dict_that_is_changed_later_does_not_change_the_message() -> None:
    count = {"n": 0}

    def counting(inp: Any) -> dict[str, int]:
        count["n"] += 1
        return count

    processor = function_processor(counting)
    first = step(processor, FakeContext())
    step(processor, FakeContext())
    assert first == Emit((Message("", {"n": 1}),))


def test_a_plain_function_runs_in_place_and_a_blocking_one_in_a_thread() -> None:
    def where(inp: Any) -> str:
        return str(threading.get_ident())

    here = str(threading.get_ident())
    assert step(function_processor(where), FakeContext()) == Emit((Message(here),))
    assert step(function_processor(where, blocking=True), FakeContext()) != Emit((Message(here),))


def test_an_async_function_needs_no_thread() -> None:
    async def later(inp: Any) -> str:
        return ""

    with pytest.raises(CallError, match="'later' is async and needs no thread"):
        function_processor(later, blocking=True)


@pytest.mark.parametrize(("result", "type"), [(3, "int"), ([1.5], "float"), ([NOTHING], "Nothing")])
def test_anything_else_is_refused_by_node_and_type(result: Any, type: str) -> None:
    with pytest.raises(
        StepFailed, match=f"node 'critic': the function '<lambda>' returned {type};"
    ):
        step(returning(result), FakeContext(node_id="critic"))


def test_what_the_function_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        step(function_processor(lambda inp: 1 / 0), FakeContext())


def test_a_graph_file_may_name_a_registered_function() -> None:
    registry = registry_with(shout=lambda inp: inp.text.upper())
    config = registry.config_model("node", "function").model_validate({"name": "shout"})
    processor = registry.build("node", "function", config)
    assert step(processor, of_text("hey")) == Emit((Message("HEY"),))


def test_an_unknown_function_is_a_config_error_with_the_nearest() -> None:
    assert problems("function", {"name": "shuot"}, shout=str) == [
        "name: there is no function named 'shuot'; did you mean 'shout'?"
    ]


def test_an_async_function_is_not_called_before_somebody_waits_for_its_node() -> None:
    called = []

    async def noting(inp: Any) -> None:
        called.append(inp)

    waiting = function_processor(noting).process(FakeContext())
    assert inspect.iscoroutine(waiting)
    waiting.close()
    assert not called
