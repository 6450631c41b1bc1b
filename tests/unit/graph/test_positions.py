"""YAML and JSON text becomes plain data, and every line is known."""

from __future__ import annotations

import json

import pytest

from rondel.errors import GraphError, Problem
from rondel.graph import positions
from rondel.graph.positions import parse


def only_problem(text: str | bytes) -> Problem:
    with pytest.raises(GraphError) as caught:
        parse(text, "g.yaml")
    (problem,) = caught.value.problems
    assert problem.file == "g.yaml"
    return problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("012", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        (".inf", float("inf")),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2024-01-31", "2024-01-31"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("9" * 5000, "9" * 5000),
        ("=", "="),
    ],
)
def test_words_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    assert parse(f"a: {text}").data == {"a": value}


def test_keys_are_text_whatever_they_look_like() -> None:
    assert parse("on: 1\ntrue: 2\n5: 3\n~: 4").data == {"on": 1, "true": 2, "5": 3, "~": 4}


def test_every_key_and_value_has_its_line() -> None:
    parsed = parse("a:\n  - x\n  - y: 1\n    z:\n      far below\nb: {c: 2}\n")
    lines = parsed.positions
    assert lines.line(()) == 1
    assert lines.line(("a", 1, "y")) == 3
    assert (lines.key_line(("a", 1, "z")), lines.line(("a", 1, "z"))) == (4, 5)
    assert lines.line(("b", "c")) == 6
    assert lines.line(("b", "missing", 7)) == 6


def test_anchors_aliases_and_merge_keys_work() -> None:
    text = "base: &b {p: 1, q: 2}\none: *b\ntwo:\n  q: 3\n  <<: *b\nall:\n  <<: [{p: 9}, *b]\n"
    parsed = parse(text)
    assert parsed.data["one"] == {"p": 1, "q": 2}
    assert parsed.data["two"] == {"p": 1, "q": 3}
    assert parsed.data["all"] == {"p": 9, "q": 2}
    assert parsed.positions.line(("two", "q")) == 4
    assert parsed.positions.line(("two", "p")) == 1


def test_a_key_that_stands_twice_is_a_problem_and_the_rest_is_still_read() -> None:
    parsed = parse("graph:\n  id: a\n  id: b\nlast: 1\n", "g.yaml")
    (problem,) = parsed.problems
    assert (problem.line, problem.path) == (3, "graph.id")
    assert "stands twice" in problem.message
    assert "line 2" in problem.hint
    assert parsed.data == {"graph": {"id": "a"}, "last": 1}


@pytest.mark.parametrize("tag", ["!!python/object:os.system", "!!set", "!custom", "!!timestamp"])
def test_only_plain_types_are_allowed(tag: str) -> None:
    (problem,) = parse(f"a:\n  b: {tag} x").problems
    assert (problem.path, problem.line) == ("a.b", 2)
    assert "is not allowed" in problem.message


def test_a_tag_that_contradicts_its_value_is_a_problem() -> None:
    (problem,) = parse("a: !!int x").problems
    assert "!!int" in problem.message


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("a: 1\nb: c: d\n", 2, "mapping values are not allowed", "quotes"),
        ("a:\n\t- b\n", 2, "cannot start any token", "spaces"),
        ("a: @b\n", 1, "cannot start any token", "quotes"),
        ("a: [1,\n\n\n", 1, "not valid YAML", "brackets"),
        ('a: "x\n', 1, "unexpected end", "quotes"),
        ("a: 1\nb: \x07\n", 2, "#x0007", "escape"),
        (b"a: 1\nb: \xff\n", 2, "not UTF-8", "UTF-8"),
        ("a: 1\nb: \ud800", 2, "surrogate", ""),
        ("a: 1\n---\nb: 2\n", 2, "second YAML document", "file of its own"),
        ("a: 1\nb: *nope\n", 2, "'*nope' has no anchor", "&nope"),
        ("a: &a [1, *a]\n", 1, "inside the very thing", ""),
        ("a: 1\n? [b]\n: c\n", 2, "cannot be a key", "text"),
        ("[" * 5000, 1, "nests deeper than 100", "files of their own"),
    ],
)
def test_text_that_cannot_be_read_is_one_problem_with_its_line(
    text: str | bytes, line: int, message: str, hint: str
) -> None:
    problem = only_problem(text)
    assert problem.line == line
    assert message in problem.message
    assert hint in problem.hint


def test_a_small_file_cannot_stand_for_a_huge_one() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    problem = only_problem("\n".join(lines))
    assert "aliases stand for more than" in problem.message
    assert problem.line == 6


def test_aliases_cannot_nest_deeper_than_the_text_may() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]
    assert "nests deeper" in only_problem("\n".join(lines)).message


def test_a_file_that_is_too_big_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_BYTES", 10)
    assert "MiB" in only_problem("a: 1234567890").message


def test_json_is_read_too_with_all_its_escapes() -> None:
    data = {"a": "😀 \\ud83d\\ude00 / \t", "b": [1, 2.5, None, True, {}]}
    assert parse(json.dumps(data, indent="\t")).data == data
    assert parse('\ufeff{"a":\n"\\/"}'.encode()).data == {"a": "/"}


def test_a_hundred_thousand_items_are_read() -> None:
    text = "a:\n" + "".join(f"- {{id: n{n}}}\n" for n in range(100_000))
    parsed = parse(text)
    assert parsed.positions.line(("a", 99_999, "id")) == 100_001
