from __future__ import annotations

import pytest

from rondel.engine.message import Message
from tests.unit.nodes.context import FakeContext, of_text
from tests.unit.nodes.running import built, emitted, problems


def test_it_always_says_the_same() -> None:
    literal = built("literal", content="ready")
    assert emitted(literal, FakeContext()) == Message("ready", role="user")
    assert emitted(literal, of_text("anything")) == Message("ready", role="user")


def test_it_may_speak_in_another_role() -> None:
    assert emitted(built("literal", content="x", role="system"), FakeContext()).role == "system"


@pytest.mark.parametrize("config", [{}, {"content": ""}, {"content": "x", "role": "robot"}])
def test_a_wrong_config_is_refused(config: dict[str, str]) -> None:
    assert problems("literal", config)
