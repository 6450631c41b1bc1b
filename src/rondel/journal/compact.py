"""Ticks as a database stores them: most steps as a short array, other ticks as in `codec`.

Format 2 is for a step that ended with plain messages and nothing else. The byte 2 is followed by
the JSON array `[at, step, fired, took, [[content, source, data], ...]]` without empty data, which
takes a third of the space.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from rondel.engine.message import NO_DATA, Message
from rondel.engine.ticks import AnyTick, Finished
from rondel.errors import JournalCorrupt
from rondel.journal import codec

_SHORT = 2
_MARK = bytes([_SHORT])
_ROLE = Message().role
_SMALL = 2**53


class _Said(msgspec.Struct, array_like=True):
    content: str
    source: str
    data: dict[str, Any] = NO_DATA


class _Short(msgspec.Struct, array_like=True):
    at: float
    step: int
    fired: tuple[int, ...]
    took: float
    messages: list[_Said]


def encode(tick: AnyTick) -> bytes:
    """The record of a tick; raises if it would not come back unchanged."""
    if isinstance(tick, Finished):
        record = _encode_short(tick)
        if record is not None:
            return record
    return codec.encode(tick)


def decode(record: bytes) -> AnyTick:
    """The tick of a record."""
    if record[:1] != _MARK:
        return codec.decode(record)
    try:
        return _decode(memoryview(record)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalCorrupt(f"a record of the journal is damaged: {error}") from error


def _encode_short(tick: Finished) -> bytes | None:
    """The short record of a tick, if format 2 can express it."""
    if (
        tick.usage
        or tick.altered
        or tick.retried
        or tick.state is not msgspec.UNSET
        or tick.report is not None
        or tick.verdict is not None
        or tick.entropy is not None
    ):
        return None
    said: list[tuple[Any, ...]] = []
    is_sure = True
    for message in tick.messages:
        content, source, data = message.content, message.source, message.data
        if (
            content.__class__ is not str
            or source.__class__ is not str
            or (data is not NO_DATA and data.__class__ is not dict)
            or message.kept
            or message.own_role
            or message.role != _ROLE
        ):
            return None
        if data:
            said.append((content, source, data))
            is_sure = is_sure and _is_flat(data)
        else:
            said.append((content, source))
    try:
        record = _MARK + _encode((tick.at, tick.step, tick.fired, tick.took, said))
        return record if is_sure or _decode(memoryview(record)[1:]) == tick else None
    except (TypeError, ValueError, RecursionError, OverflowError, msgspec.DecodeError):
        return None  # the long form raises, and names the place


def _is_flat(data: dict[Any, Any]) -> bool:
    """Whether all values are texts or small numbers, which always come back unchanged."""
    if data.__class__ is not dict:
        return False
    for key, value in data.items():
        kind = value.__class__
        if key.__class__ is not str or not (
            kind is str
            or kind is bool
            or value is None
            or (kind is int and -_SMALL < value < _SMALL)
            or (kind is float and isfinite(value))
        ):
            return False
    return True


def _decode(record: memoryview) -> Finished:
    short = _decoder.decode(record)
    messages = tuple(
        [Message(said.content, said.data, source=said.source) for said in short.messages]
    )
    return Finished(short.at, short.step, messages, short.fired, took=short.took)


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(_Short)
