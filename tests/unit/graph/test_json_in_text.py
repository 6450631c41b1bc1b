"""JSON objects are found in whatever a model writes around them, at a linear cost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.graph.json_in_text import MAX_DEPTH, objects_in
from tests.counting import calls_of

SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)
PROSE = st.text(st.characters(exclude_characters='{}"', exclude_categories=["Cs"]), max_size=12)
NOISE = st.text(st.sampled_from('{}[]":,\\ \na1'), max_size=60)


@settings(deadline=None, max_examples=200)
@given(parts=st.lists(st.tuples(PROSE, OBJECTS, st.booleans()), max_size=4), end=PROSE)
def test_objects_are_found_in_order_between_prose_and_fences(
    parts: list[tuple[str, dict[str, Any], bool]], end: str
) -> None:
    text = ""
    for prose, value, fenced in parts:
        source = json.dumps(value, ensure_ascii=False)
        text += prose + (f"\n```json\n{source}\n```\n" if fenced else source)
    assert objects_in(text + end) == [value for _, value, _ in parts]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("no object here", []),
        ("an empty one: {}", [{}]),
        ('{"a": {"b": 1}}', [{"a": {"b": 1}}]),
        ('{"a": "a } and a { in a string"}', [{"a": "a } and a { in a string"}]),
        (r'{"a": "a \" quote {"} {"b": 2}', [{"a": 'a " quote {'}, {"b": 2}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('use {braces} like {"a": 1}', [{"a": 1}]),
        ('it opens { and then {"a": 1}', [{"a": 1}]),
        ('{"a": 1, oops {"b": 2}', [{"b": 2}]),
        ('{"a": {"b": 2}, "c": ', [{"b": 2}]),
        ('the key {" is odd: {"b": 2}', [{"b": 2}]),
        ('{"a": 1}}} {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('{"a": [1, 2}', []),
        ('{"a": 1,}', []),
        ("{'a': 1}", []),
        ('{"a": NaN} {"a": Infinity} {"a": 1e999}', []),
        ('{"a": 01}', []),
        (r'{"a": "\x"}', []),
        (r'{"a": "half \ud83d"}', [{"a": "half \ufffd"}]),
        (r'{"a": "\ud83d\ude00"}', [{"a": "😀"}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        ('{"结论": "是"}。另外 {"b": 2}', [{"结论": "是"}, {"b": 2}]),
        ('{"a": 1, "a": 2}', [{"a": 2}]),
        ('{"a": ' + "9" * 5000 + "}", []),
    ],
)
def test_what_counts_as_an_object(text: str, found: list[dict[str, Any]]) -> None:
    assert objects_in(text) == found


@settings(deadline=None, max_examples=200)
@given(text=NOISE)
def test_any_text_gives_only_objects_that_stand_in_it(text: str) -> None:
    for value in objects_in(text):
        assert isinstance(value, dict)
        json.dumps(value, allow_nan=False).encode()
    starts = [index for index, mark in enumerate(text) if mark == "{"]
    assert bool(objects_in(text)) == any(_decodes(text, start) for start in starts)


def _decodes(text: str, start: int) -> bool:
    try:
        json.JSONDecoder(strict=False).raw_decode(text, start)
    except ValueError:
        return False
    return True


def test_an_object_that_nests_too_deep_is_left_out_and_no_recursion_is_deep() -> None:
    def nested(depth: int) -> str:
        return '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)

    assert len(objects_in(nested(MAX_DEPTH))) == 1
    assert objects_in(nested(MAX_DEPTH + 1) + '{"b": 2}') == [{"b": 2}]
    assert objects_in(nested(50_000) + '{"b": 2}') == [{"b": 2}]


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        '{"',
        '{"a":',
        '{"a":[',
        '{"{":',
        '{"a":{},',
        '{"a{":":1,",',
        '{"\\',
        '{"\\x',
        '{"a" ',
        '{"x{" : ":1," , ":2," : ":3,"',
        '{"a": "{", "b": ',
        '{"a":1}',
    ],
)
def test_ten_times_the_text_is_ten_times_the_work(piece: str) -> None:
    few, many = (calls_of(lambda n=n: objects_in(piece * n)) for n in (200, 2000))
    assert many <= 11 * few
