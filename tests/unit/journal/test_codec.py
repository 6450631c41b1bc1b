"""Ticks come back from the journal as they went in, or do not go in."""

from __future__ import annotations

import datetime
import enum
import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.engine import ticks
from rondel.engine.message import Message, Part
from rondel.engine.protocols import Question, Usage, Verdict
from rondel.errors import JournalCorrupt, JournalNewer, Unstorable
from rondel.journal import codec, compact

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TIME = st.floats(0, 4e9)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
DATA = st.dictionaries(TEXT, JSON, max_size=4)
SMALL = st.integers(0, 2**40)
MESSAGE = st.builds(
    Message,
    TEXT | st.lists(st.builds(Part, TEXT, TEXT, TEXT, TEXT), max_size=2),
    DATA,
    TEXT,
    TEXT,
    st.booleans(),
)
MESSAGES = st.lists(MESSAGE, max_size=3).map(tuple)
ALTERED = st.dictionaries(SMALL, st.lists(st.none() | MESSAGE, max_size=2), max_size=2)
STATE = st.just(msgspec.UNSET) | JSON
USAGE = st.lists(
    st.builds(Usage, model=TEXT, input_tokens=SMALL, output_tokens=SMALL, usd=TIME), max_size=2
)
VERDICT = st.none() | st.builds(
    Verdict, reason=TEXT, goal_met=st.none() | st.booleans(), value=st.none() | TIME
)
QUESTION = st.builds(Question, description=TEXT, actions=st.lists(TEXT, max_size=2))
TICK: st.SearchStrategy[Any] = st.one_of(
    st.builds(ticks.Started, at=TIME, inputs=DATA),
    st.builds(
        ticks.Finished,
        at=TIME,
        step=SMALL,
        messages=MESSAGES,
        fired=st.lists(SMALL, max_size=3).map(tuple),
        altered=ALTERED,
        state=STATE,
        verdict=VERDICT,
        report=st.none() | DATA,
        usage=USAGE,
        took=TIME,
        retried=st.lists(TEXT, max_size=2),
    ),
    st.builds(ticks.Failed, at=TIME, step=SMALL, error=TEXT, kind=TEXT, usage=USAGE),
    st.builds(ticks.Suspended, at=TIME, step=SMALL, question=QUESTION, state=STATE),
    st.builds(ticks.Answered, at=TIME, step=SMALL, answer=JSON, by=TEXT),
    st.builds(ticks.WayOut, at=TIME, entry=SMALL, altered=ALTERED),
    st.builds(ticks.Paused, at=TIME, by=TEXT),
    st.builds(ticks.Locked, at=TIME, reason=TEXT, message=TEXT, figures=DATA),
    st.builds(ticks.Unlocked, at=TIME, by=TEXT, justification=TEXT),
    st.builds(ticks.Aborted, at=TIME, reason=TEXT, message=TEXT),
)


@given(TICK)
def test_every_tick_comes_back_as_it_was(tick: ticks.AnyTick) -> None:
    record = codec.encode(tick)
    again = codec.decode(record)
    assert again == tick
    assert type(again) is type(tick)
    assert codec.encode(again) == record


@given(TICK)
def test_every_tick_comes_back_from_a_database_as_it_was(tick: ticks.AnyTick) -> None:
    record = compact.encode(tick)
    again = compact.decode(record)
    assert again == tick
    assert type(again) is type(tick)
    assert compact.encode(again) == record


@given(JSON)
def test_every_json_value_comes_back_as_it_was(value: Any) -> None:
    assert codec.decode_value(codec.encode_value(value, "it")) == value


def finished(**fields: Any) -> ticks.Finished:
    return ticks.Finished(1.5, 7, **fields)


def test_no_state_and_the_state_none_are_two_things() -> None:
    for state in (msgspec.UNSET, None, 0, False, ""):
        again = codec.decode(codec.encode(finished(state=state)))
        assert isinstance(again, ticks.Finished)
        assert again.state is state or again.state == state
        assert type(again.state) is type(state)


def test_a_record_has_nothing_that_is_as_always() -> None:
    assert codec.encode(finished()) == b'{"t":"done","at":1.5,"step":7}'


def test_a_step_that_only_said_something_is_kept_without_the_names_of_its_fields() -> None:
    plain = finished(messages=(Message("hi", source="Writer"),), fired=(3,), took=0.25)
    assert compact.encode(plain) == b'\x02[1.5,7,[3],0.25,[["hi","Writer"]]]'
    assert compact.encode(_saying({"x": 1})) == b'\x02[1.5,7,[],0.0,[["x","Critic",{"x":1}]]]'


@pytest.mark.parametrize(
    "message",
    [
        Message("x", role="user"),
        Message("x", kept=True),
        Message([Part("x")]),
        Message("x", {"pair": (1, 2)}),
    ],
)
def test_a_message_that_is_not_plain_comes_back_whole(message: Message) -> None:
    tick = finished(messages=(Message("plain"), message))
    again = compact.decode(compact.encode(tick))
    assert again == codec.decode(codec.encode(tick))


@pytest.mark.parametrize(
    "message",
    [Message(5), Message("x", None), Message("x", source=None), Message("\ud800")],  # type: ignore[arg-type]
)
def test_a_message_of_wrong_types_is_refused_by_a_database_too(message: Message) -> None:
    with pytest.raises(Unstorable, match="step 7"):
        compact.encode(finished(messages=(message,)))


@pytest.mark.parametrize(
    "record", [b"\x02", b"\x02{", b"\x02[1.0,7]", b'\x02[1.0,7,[],0.0,[[5,"x"]]]', b"\x02\xff"]
)
def test_a_damaged_short_record_says_so(record: bytes) -> None:
    with pytest.raises(JournalCorrupt, match="damaged"):
        compact.decode(record)


def test_tuples_come_back_as_lists() -> None:
    again = codec.decode(codec.encode(finished(state=(1, (2, 3)))))
    assert again == finished(state=[1, [2, 3]])


class Loud(str):
    __slots__ = ()


class Exact(float):
    pass


def test_kinds_of_text_and_number_come_back_plain() -> None:
    again = codec.decode(codec.encode(finished(state=[Loud("hi"), Exact(0.5)])))
    assert again == finished(state=["hi", 0.5])


class Colour(enum.Enum):
    RED = "red"


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({1, 2}, "a set .*sorted list"),
        (b"x", "a bytes .*base64"),
        (datetime.datetime(2026, 1, 1), "a datetime .*isoformat"),
        (Decimal("1.5"), "a Decimal .*float"),
        (Colour.RED, "a Colour .*plain JSON"),
        (Opaque(), "a Opaque .*plain JSON"),
        (math.nan, "nan .*cannot hold"),
        (-math.inf, "-inf .*cannot hold"),
        ({1: "x"}, "the int 1 as a key .*use str"),
        ({None: "x"}, "the NoneType None as a key"),
        ("\ud800", "not valid Unicode"),
        ({"\ud800": 1}, "not valid Unicode"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_step_place_and_advice(value: Any, said: str) -> None:
    for place, tick in (
        ("messages[0].data.found.deep[1]", _saying({"found": {"deep": [0, value]}})),
        ("state.x", finished(state={"x": value})),
        ("report.x", finished(report={"x": value})),
    ):
        for encode in (codec.encode, compact.encode):
            with pytest.raises(Unstorable, match=said) as refused:
                encode(tick)
            assert str(refused.value).startswith("step 7")
            assert place in str(refused.value)


def _saying(data: dict[str, Any]) -> ticks.Finished:
    return finished(messages=(Message("x", data, source="Critic"),))


def test_the_refusal_names_the_node_where_it_can() -> None:
    with pytest.raises(Unstorable, match=r"^step 7 \(node 'Critic'\) has a set"):
        codec.encode(_saying({"x": set()}))
    with pytest.raises(Unstorable, match=r"^the record of 'started' has a set at inputs\.x"):
        codec.encode(ticks.Started(1.0, {"x": set()}))


def test_a_field_of_the_wrong_type_is_refused_before_it_is_written() -> None:
    with pytest.raises(Unstorable, match=r"step 7 .*wrong type.*messages\[0\].content"):
        codec.encode(finished(messages=(Message(5),)))  # type: ignore[arg-type]


def test_data_that_contains_itself_is_refused() -> None:
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    with pytest.raises(Unstorable, match="contains itself"):
        codec.encode(finished(state=round_and_round))


def test_a_record_of_a_newer_format_says_so() -> None:
    with pytest.raises(JournalNewer, match=r"format 3 .*reads up to 2"):
        compact.decode(b"\x03whatever")


def test_a_tick_of_an_unknown_kind_says_so() -> None:
    with pytest.raises(JournalNewer, match="kind 'teleport'"):
        codec.decode(b'{"t":"teleport","at":1.0}')


@pytest.mark.parametrize(
    "record", [b"", b"{", b"\x00", b"[1]", b'{"t":"done"}', b'{"at":1}', b'{"t":"start","at":"x"}']
)
def test_a_damaged_record_says_so(record: bytes) -> None:
    with pytest.raises(JournalCorrupt, match="damaged"):
        codec.decode(record)


def test_a_field_that_a_later_version_added_is_no_obstacle() -> None:
    assert codec.decode(b'{"t":"pause","at":1.0,"mood":"calm"}') == ticks.Paused(1.0)
