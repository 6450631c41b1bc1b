from __future__ import annotations

from typing import Any

import pytest

from rondel.engine.message import Message
from rondel.engine.protocols import Emit, Nothing
from tests.unit.nodes.context import FakeContext
from tests.unit.nodes.running import built, problems, step


def timed(times: list[float], **config: Any) -> list[list[str]]:
    """What the timer says when it is triggered at these times of the session."""
    timer = built("loop_timer", **config)
    state: Any = None
    said: list[list[str]] = []
    for time in times:
        messages = [Message("one", {"n": 1}, "user", "A"), Message("two", source="B")]
        outcome = step(timer, FakeContext(messages, state=state, active_time=time))
        assert isinstance(outcome, Emit | Nothing)
        state = outcome.state
        texts = [m.text for m in outcome.messages] if isinstance(outcome, Emit) else []
        said.append(texts)
    return said


LIMIT = ["Time limit reached (60 seconds)"]


def test_it_is_silent_until_the_time_since_its_first_trigger_is_up() -> None:
    assert timed([100, 130, 159.9, 160]) == [[], [], [], LIMIT]


def test_after_the_limit_it_starts_anew_with_its_next_trigger() -> None:
    assert timed([0, 61, 500, 559, 560]) == [[], LIMIT, [], [], LIMIT]


def test_without_reset_it_speaks_at_every_later_trigger() -> None:
    assert timed([0, 60, 61, 500], reset_on_emit=False) == [[], LIMIT, LIMIT, LIMIT]


def test_below_the_limit_it_may_pass_its_messages_on() -> None:
    assert timed([0, 60], passthrough=True) == [["one", "two"], LIMIT]


def test_units_and_the_message() -> None:
    assert timed([0, 89, 90], max_duration=1.5, duration_unit="minutes") == [
        [],
        [],
        ["Time limit reached (1.5 minutes)"],
    ]
    assert timed([0, 3600], max_duration=1, duration_unit="hours", message="stop")[1] == ["stop"]


def test_its_data_tells_the_time() -> None:
    outcome = step(built("loop_timer"), FakeContext(state=5.0, active_time=70.0))
    assert isinstance(outcome, Emit)
    figures = {"elapsed": 65.0, "max": 60.0, "reset_on_emit": True}
    assert outcome.messages[0].data == {"loop_timer": figures}


@pytest.mark.parametrize(
    "config",
    [
        {"max_duration": 0},
        {"max_duration": "1h"},
        {"duration_unit": "days"},
        {"max_duration": True},
    ],
)
def test_a_wrong_config_is_refused(config: dict[str, Any]) -> None:
    assert problems("loop_timer", config)
