"""What the options of `rondel run` mean."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.cli.arguments import Answers, parse_change, parse_inputs, parse_path, parse_value
from rondel.errors import CallError
from rondel.graph.source import path_text


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        ([], {}),
        (["tea"], {"task": "tea"}),
        (["a = b"], {"task": "a = b"}),
        (["1=2"], {"task": "1=2"}),
        (["a-b=c"], {"task": "a-b=c"}),
        (["größe=1"], {"task": "größe=1"}),
        (["a="], {"a": ""}),
        (["a=b=c"], {"a": "b=c"}),
        (["text=two\nlines"], {"text": "two\nlines"}),
        (["_a1=true", "b=null", 'c={"d": [1.5]}'], {"_a1": True, "b": None, "c": {"d": [1.5]}}),
        (["a=NaN"], {"a": "NaN"}),
        (["tea", "group_id=g"], {"task": "tea", "group_id": "g"}),
    ],
)
def test_inputs(options: list[str], inputs: dict[str, Any]) -> None:
    assert parse_inputs(options) == inputs


@pytest.mark.parametrize("options", [["a", "b"], ["a=1", "a=2"], ["tea", "task=milk"]])
def test_an_input_given_twice_is_refused(options: list[str]) -> None:
    with pytest.raises(CallError, match="twice"):
        parse_inputs(options)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("5.0", 5.0), ('"5"', "5"), ("five", "five"), ("", ""), ("Infinity", "Infinity")],
)
def test_a_value_is_json_if_it_can_be(text: str, value: Any) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("option", "path", "value"),
    [
        ("graph.limits.max_steps=5", ("graph", "limits", "max_steps"), 5),
        ("graph.nodes[0].id=A", ("graph", "nodes", 0, "id"), "A"),
        ("graph.nodes.0.id=A", ("graph", "nodes", "0", "id"), "A"),
        ("graph.nodes.Final Output.id=A", ("graph", "nodes", "Final Output", "id"), "A"),
        ('graph.nodes["a.b=c"].id=A', ("graph", "nodes", "a.b=c", "id"), "A"),
        ("graph.nodes['a[1]'].id=A", ("graph", "nodes", "a[1]", "id"), "A"),
        ("vars.M=a=b", ("vars", "M"), "a=b"),
        ("loops.A.patience={rounds: 3}", ("loops", "A", "patience"), {"rounds": 3}),
        ("start=[A, B]", ("start",), ["A", "B"]),
        ("vars.M={{ input }}", ("vars", "M"), "{{ input }}"),
        ("vars.M={draft}", ("vars", "M"), "{draft}"),
        ("inputs.task=[note, this]", ("inputs", "task"), "[note, this]"),
    ],
)
def test_a_change(option: str, path: tuple[Any, ...], value: Any) -> None:
    assert parse_change(option) == (path, value)


@pytest.mark.parametrize("option", ["", "=", "a", "=1", ".a=1", "a..b=1", "a[=1", "a.[0]=1"])
def test_what_is_no_change(option: str) -> None:
    with pytest.raises(CallError, match="is not path=value"):
        parse_change(option)


@pytest.mark.parametrize(
    "path", [("graph", "nodes", 2, "config"), ("graph", "loops", "a.b"), ("a", "it's", 0), ()]
)
def test_a_path_that_errors_print_can_be_read_again(path: tuple[Any, ...]) -> None:
    assert parse_path(path_text(path)) == path


def test_answers_are_taken_in_order_by_those_they_are_for() -> None:
    answers = Answers(["any", "A=for a", "B=for b", "x=y", "A=again"], ["A", "B"])
    assert [answers.next_for(node) for node in "BBA"] == ["any", "for b", "for a"]
    assert [answers.next_for(node) for node in "ABA"] == ["x=y", None, "again"]


def test_an_answer_with_a_misspelt_node_is_refused() -> None:
    with pytest.raises(CallError, match="did you mean 'Reviewer'"):
        Answers(["Reviwer=ACCEPT"], ["Reviewer"])
