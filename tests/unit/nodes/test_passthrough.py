from __future__ import annotations

from rondel.engine.message import Message, Part
from rondel.engine.protocols import Emit
from tests.unit.nodes.context import FakeContext
from tests.unit.nodes.running import built, emitted, problems, step

FIRST = Message("one", {"a": 1}, "user", "A", kept=True)
SECOND = Message([Part("two"), Part(attachment="file://x")], {"b": 2}, "assistant", "B")


def test_only_the_last_message_goes_on_by_default() -> None:
    ctx = FakeContext([SECOND], retained=[FIRST])
    assert emitted(built("passthrough"), ctx) == Message(SECOND.content, {"b": 2}, "assistant")


def test_all_messages_go_on_as_new_ones_when_asked() -> None:
    outcome = step(built("passthrough", only_last_message=False), FakeContext([FIRST, SECOND]))
    assert isinstance(outcome, Emit)
    assert list(outcome.messages) == [
        Message("one", {"a": 1}, "user", kept=True),
        Message(SECOND.content, {"b": 2}, "assistant"),
    ]


def test_a_retained_message_goes_on_when_nothing_new_came() -> None:
    assert emitted(built("passthrough"), FakeContext(retained=[FIRST])).text == "one"


def test_without_messages_it_emits_an_empty_one() -> None:
    for all_of_them in (True, False):
        processor = built("passthrough", only_last_message=not all_of_them)
        assert emitted(processor, FakeContext()) == Message()


def test_a_text_is_no_bool() -> None:
    assert problems("passthrough", {"only_last_message": "yes"})
