from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine.message import Message, Part
from rondel.engine.protocols import Emit, Verdict
from rondel.errors import StepFailed
from tests.unit.nodes.context import FakeContext, of_data, of_text
from tests.unit.nodes.running import built, emitted, problems, step


@dataclass(frozen=True)
class Edge:
    target: str
    label: str = ""


def decided(ctx: FakeContext, **config: Any) -> Emit:
    outcome = step(built("loop", **config), ctx)
    assert isinstance(outcome, Emit)
    return outcome


def reason(data: dict[str, Any], round: int = 1, **config: Any) -> str:
    outcome = decided(of_data(data, round=round), **config)
    found = outcome.messages[0].data["exit_reason"]
    assert isinstance(found, str)
    return found


@given(
    round=st.integers(1, 6),
    max_rounds=st.integers(1, 6),
    threshold=st.sampled_from([0, 50, 90.5]),
    score=st.none() | st.integers(0, 100) | st.floats(0, 100),
)
def test_the_decision_table(
    round: int, max_rounds: int, threshold: float, score: float | None
) -> None:
    data = {} if score is None else {"score": score}
    outcome = decided(of_data(data, round=round), max_rounds=max_rounds, exit_on_score=threshold)
    met = threshold > 0 and score is not None and score >= threshold
    expected = "max_rounds_reached" if round >= max_rounds else "score_threshold_reached" * met
    report = {
        "should_exit": bool(expected),
        "exit_reason": expected,
        "current_round": round,
    }
    assert outcome.report == report
    assert outcome.messages[0].data == report | {
        "goal_met": met,
        "timestamp": "2023-11-14T22:13:20.500Z",
    }
    compared = {
        "": (None, None),
        "max_rounds_reached": (round, max_rounds),
        "score_threshold_reached": (score, threshold),
    }
    assert outcome.verdict == Verdict(
        expected,
        met if threshold else None,
        *compared[expected],
        score=score if threshold else None,
        target=threshold or None,
    )


def test_three_rounds_or_ninety_points() -> None:
    """The scenario of the seed: copy is improved until the third round or 90 points."""
    limits = {"max_rounds": 3, "exit_on_score": 90}
    assert [reason({"score": 60}, current, **limits) for current in (1, 2, 3)] == [
        "",
        "",
        "max_rounds_reached",
    ]
    assert [
        reason({"score": score}, current, **limits) for current, score in ((1, 80), (2, 90))
    ] == [
        "",
        "score_threshold_reached",
    ]


@pytest.mark.parametrize(
    ("iteration", "expected"),
    [(0, 1), (2, 2), ("2", 2), (2.0, 2), (-1, 1), (None, 4), ("soon", 4), (True, 4), ([2], 4)],
)
def test_the_iteration_is_read_from_the_data_else_it_is_the_engines_round(
    iteration: Any, expected: int
) -> None:
    outcome = decided(of_data({"iteration": iteration}, round=4))
    assert outcome.messages[0].data["current_round"] == expected


@pytest.mark.parametrize(
    ("score", "counts"),
    [
        (90, True),
        (90.0, True),
        ("90", True),
        (" 95.5 ", True),
        ("89", False),
        (True, False),
        ("ninety", False),
        (None, False),
        ({"value": 95}, False),
        (float("nan"), False),
        (float("inf"), False),
        ("inf", False),
        (10**400, False),
    ],
)
def test_a_score_is_a_number_or_the_text_of_one(score: Any, counts: bool) -> None:
    config = {"max_rounds": 9, "exit_on_score": 90}
    assert bool(reason({"score": score}, **config)) is counts


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"consensus": True}, "consensus_reached"),
        ({"consensus_reached": True}, "consensus_reached"),
        ({"consensus": False}, ""),
        ({"consensus": "true"}, ""),
        ({}, ""),
    ],
)
def test_consensus_ends_the_loop(data: dict[str, Any], expected: str) -> None:
    assert reason(data, exit_condition="consensus") == expected


def test_an_expression_ends_the_loop() -> None:
    condition = "has(data.verdict) && data.verdict == 'done' || text.contains('enough')"
    assert reason({}, exit_condition=condition) == ""
    assert reason({"verdict": "done"}, exit_condition=condition) == "condition_met"
    outcome = decided(of_text("that is enough"), exit_condition=condition)
    assert outcome.verdict == Verdict("condition_met", goal_met=True)


def test_an_expression_that_cannot_be_computed_fails_the_step() -> None:
    with pytest.raises(StepFailed, match="data has no 'verdict'"):
        reason({}, exit_condition="data.verdict == 'done'")


def test_a_goal_met_in_the_last_round_is_met() -> None:
    outcome = decided(of_data({"score": 95}, round=3), exit_on_score=90)
    assert outcome.verdict == Verdict("max_rounds_reached", True, 3, 3, score=95, target=90)


def test_it_hands_on_its_last_message_and_the_keys_it_is_told_to() -> None:
    parts = [Part("draft"), Part(attachment="file://x")]
    ctx = FakeContext(
        [Message("old", {"topic": "loops"}, "user"), Message(parts, {"score": 7, "x": 1}, "user")]
    )
    message = emitted(built("loop", passthrough_keys=["topic", "score", "absent"]), ctx)
    assert (message.content, message.role, message.source) == (parts, "user", "")
    assert message.data["topic"] == "loops"
    assert message.data["score"] == 7
    assert {"x", "absent"}.isdisjoint(message.data)


def test_without_messages_it_still_decides() -> None:
    message = emitted(built("loop", max_rounds=1), FakeContext())
    assert message.content == ""
    assert message.data["should_exit"]


@pytest.mark.parametrize(
    ("labels", "onward", "leaving"),
    [
        (["", ""], "0", "1"),
        (["", "", ""], "0", "1"),
        (["exit", "continue"], "1", "0"),
        (["exit", ""], "1", "0"),
        (["", "continue"], "1", "0"),
        (["", "exit", "continue"], "2", "1"),
        (["continue", "exit", "continue"], "02", "1"),
        (["note", "", "exit"], "0", "2"),
        ([""], "0", "0"),
        ([], "", ""),
    ],
)
def test_it_routes_by_label_and_else_by_place(labels: list[str], onward: str, leaving: str) -> None:
    edges = [Edge(str(place), label) for place, label in enumerate(labels)]
    loop = built("loop", max_rounds=2)
    for current, expected in ((1, onward), (2, leaving)):
        output = step(loop, of_text("x", round=current))
        assert "".join(edge.target for edge in loop.route(output, edges)) == expected


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_rounds": "3"}, "max_rounds"),
        ({"max_rounds": True}, "max_rounds"),
        ({"exit_on_score": -1}, "exit_on_score"),
        ({"exit_condition": "concensus"}, "did you mean 'consensus'?"),
        ({"exit_condition": "data.x ="}, "cannot be read"),
        ({"exit_condition": "score > 3"}, "did you mean 'data.score'?"),
        ({"exit_condition": ""}, "empty"),
    ],
)
def test_a_wrong_config_is_refused(config: dict[str, Any], says: str) -> None:
    assert says in problems("loop", config)[0]


@pytest.mark.parametrize(
    "text",
    ['I say {"score": 91}', "Well done.\n**Score:** 91/100", "不错。得分: 91分", "Score: 91"],
)
def test_a_score_is_read_where_a_contract_reads_it(text: str) -> None:
    ctx = FakeContext([Message(text, {}, "assistant"), Message("and so on", {}, "user")])
    assert decided(ctx, max_rounds=9, exit_on_score=90).report["exit_reason"]
    stated = FakeContext([Message(text, {"score": 60}, "assistant")])
    assert not decided(stated, max_rounds=9, exit_on_score=90).report["exit_reason"]
