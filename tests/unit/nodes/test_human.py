from __future__ import annotations

from typing import Any

import pytest

from rondel.engine.message import Message
from rondel.engine.protocols import Question, Suspend
from tests.unit.nodes.context import FakeContext, of_text
from tests.unit.nodes.running import built, emitted, problems, step

ACTIONS = ["approve", "Revise", "reject", "reject for good"]


def test_it_asks_and_waits() -> None:
    outcome = step(built("human", description="Good?", actions=ACTIONS), of_text("draft"))
    assert outcome == Suspend(Question("Good?", ACTIONS))


def test_free_text_is_emitted_as_the_users() -> None:
    answered = emitted(built("human"), FakeContext(answer="ACCEPT it"))
    assert answered == Message("ACCEPT it", role="user")


def test_an_empty_answer_is_an_answer() -> None:
    assert emitted(built("human"), FakeContext(answer="")) == Message("", role="user")


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ("approve", {"action": "approve"}),
        ("  APPROVE \n", {"action": "approve"}),
        ("approve.", {"action": "approve"}),
        ("revise: make it shorter", {"action": "Revise", "comment": "make it shorter"}),
        ("revise：短一点", {"action": "Revise", "comment": "短一点"}),
        ("revise make it shorter", {"action": "Revise", "comment": "make it shorter"}),
        ("reject for good", {"action": "reject for good"}),
        ("reject for now", {"action": "reject", "comment": "for now"}),
    ],
)
def test_an_action_is_recognised_with_its_comment(answer: str, data: dict[str, str]) -> None:
    human = built("human", actions=ACTIONS)
    assert emitted(human, FakeContext(answer=answer)) == Message(answer, data, "user")


@pytest.mark.parametrize("answer", ["approved", "yes", "", "I approve"])
def test_anything_else_is_asked_for_again(answer: str) -> None:
    human = built("human", description="Good?", actions=ACTIONS)
    outcome = step(human, FakeContext(answer=answer))
    assert isinstance(outcome, Suspend)
    assert outcome.question.actions == ACTIONS
    assert outcome.question.description == (
        f"Good?\n{answer!r} is not one of: approve, Revise, reject, reject for good. "
        "Answer with one of them; a comment may follow, as in 'approve: your comment'."
    )


@pytest.mark.parametrize(
    "config",
    [{"actions": ["a", "A "]}, {"actions": [" "]}, {"actions": "approve"}, {"timeout": 0}],
)
def test_a_wrong_config_is_refused(config: dict[str, Any]) -> None:
    assert problems("human", config)
