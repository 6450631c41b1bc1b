from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rondel.engine.message import Message
from rondel.errors import StepFailed
from tests.unit.conditions.registries import built, problems

CASES = Path(__file__).parents[2] / "conformance" / "chatdev" / "cases.jsonl"


def extracted(text: str, **config: Any) -> str | None:
    message = Message(text, {"score": 1}, "user", "Writer")
    result = built("process", "regex_extract", config)(message)
    if result is None:
        return None
    assert (result.data, result.role, result.source) == ({"score": 1}, "user", "Writer")
    assert isinstance(result.content, str)
    return result.content


@pytest.mark.parametrize(
    ("text", "config", "expected"),
    [
        ("v42 and v7", {"pattern": r"\d+"}, "42"),
        ("v42 and v7", {"pattern": r"\d+", "multiple": True}, "42\n7"),
        ("v42 v7", {"pattern": r"\d+", "multiple": True, "template": "<{match}>"}, "<42>\n<7>"),
        ("revise 1", {"pattern": "revise (.*)", "group": 1, "template": "{match}{match}"}, "11"),
        ("name: Ann", {"pattern": r"name: (?P<who>\w+)", "group": "who"}, "Ann"),
        ("LIMIT", {"pattern": "limit"}, "LIMIT"),
        (
            "LIMIT",
            {"pattern": "limit", "case_sensitive": False, "template": "got {match}"},
            "got LIMIT",
        ),
        ("none", {"pattern": r"\d+", "on_no_match": "pass", "template": "<{match}>"}, "none"),
        ("none", {"pattern": r"\d+", "on_no_match": "drop"}, None),
        ("none", {"pattern": r"\d+", "on_no_match": "default"}, ""),
        ("none", {"pattern": r"\d+", "on_no_match": "default", "default_value": "-"}, "-"),
        ("b", {"pattern": "(a)|b", "group": 1, "on_no_match": "drop"}, None),
        ("xyz", {"pattern": "(.*)", "group": 1, "template": "{match}+"}, "xyz+"),
    ],
)
def test_regex_extract(text: str, config: dict[str, Any], expected: str | None) -> None:
    assert extracted(text, **config) == expected


def observed() -> Iterator[tuple[str, dict[str, Any], list[str], list[str]]]:
    """Edges with a process: its config, what the source sent and what the target saw of it."""
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        steps = case["expected"]["nodes"]
        edges = yaml.safe_load(case["yaml"])["graph"]["edges"]
        ends = Counter((edge["from"], edge["to"]) for edge in edges)
        for edge in edges:
            source, target = edge["from"], edge["to"]
            if "process" not in edge or ends[source, target] > 1:
                continue
            sent = [text for step in steps[source] for text in step["out"]]
            seen = [text for step in steps[target] for name, text in step["in"] if name == source]
            yield case["id"], edge["process"]["config"], sent, seen


def test_regex_extract_gives_what_was_observed_on_chatdev() -> None:
    edges = 0
    for case, config, sent, seen in observed():
        edges += bool(seen)
        assert {*seen} <= {extracted(text, **config) for text in sent}, (case, config)
    assert edges > 50


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"pattern": "("}, "pattern: '(' is not a regular expression"),
        ({"pattern": "a", "group": 1}, "the pattern 'a' has no group 1"),
        ({"pattern": "a", "group": "who"}, "the pattern 'a' has no group 'who'"),
        ({"pattern": "a", "on_no_match": "explode"}, "on_no_match: "),
        ({}, "pattern: Field required"),
        ({"pattern": "a", "patern": "b"}, "patern: "),
    ],
)
def test_a_wrong_regex_extract_is_refused(config: dict[str, Any], says: str) -> None:
    assert says in problems("process", "regex_extract", config)[0]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("new", Message("new", {"score": 1}, "user", "Writer")),
        ({"score": 2}, Message("old", {"score": 2}, "user", "Writer")),
        (Message("all new"), Message("all new")),
        (None, None),
    ],
)
def test_a_function_makes_the_message_anew(result: Any, expected: Message | None) -> None:
    process = built("process", "function", {"name": "f"}, f=lambda _: result)
    assert process(Message("old", {"score": 1}, "user", "Writer")) == expected


def test_a_function_that_returns_something_else_is_refused() -> None:
    process = built("process", "function", {"name": "f"}, f=lambda _: 3)
    with pytest.raises(StepFailed, match="returned int; an edge process returns text, a dict"):
        process(Message())


def test_an_async_function_is_no_process() -> None:
    async def later(message: Message) -> str:
        return message.text

    process = built("process", "function", {"name": "later"}, later=later)
    with pytest.raises(StepFailed, match="'later' is async, but an edge process must answer"):
        process(Message())
