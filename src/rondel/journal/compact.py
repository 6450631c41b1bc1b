"""Ticks as a database keeps them: what most steps are is a short array, the rest as in `codec`.

Format 2 is a step that ended with plain messages and nothing else to tell. Behind the byte 2
comes the JSON array `[at, step, fired, took, [[content, source, data], ...]]`, where empty data
is left out: a third of what the names of the fields take.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.engine.message import Message
from rondel.engine.ticks import AnyTick, Finished
from rondel.errors import JournalCorrupt
from rondel.journal import codec

_SHORT = 2
_MARK = bytes([_SHORT])
_ROLE = Message().role


class _Said(msgspec.Struct, array_like=True):
    content: str
    source: str
    data: dict[str, Any] = {}


class _Short(msgspec.Struct, array_like=True):
    at: float
    step: int
    fired: tuple[int, ...]
    took: float
    messages: list[_Said]


def encode(tick: AnyTick) -> bytes:
    """The record of a tick; refuses what would not come back as it is."""
    if tick.__class__ is Finished:
        said = _plain_messages(tick)
        if said is not None:
            try:
                record = _encoder.encode((tick.at, tick.step, tick.fired, tick.took, said))
                if all(map(_is_bare, said)) or _decode(record) == tick:
                    return _MARK + record
            except (TypeError, ValueError, RecursionError, OverflowError):
                pass  # refused below, with the place where it is
    return codec.encode(tick)


def decode(record: bytes) -> AnyTick:
    """The tick of a record."""
    if record[:1] != _MARK:
        return codec.decode(record)
    try:
        return _decode(memoryview(record)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalCorrupt(f"a record of the journal is damaged: {error}") from error


def _plain_messages(tick: Finished) -> list[tuple[Any, ...]] | None:
    """What the step said, if that is all there is to it."""
    if (
        tick.state is not msgspec.UNSET
        or tick.usage
        or tick.report is not None
        or tick.verdict is not None
        or tick.altered
        or tick.retried
        or tick.entropy is not None
    ):
        return None
    said: list[tuple[Any, ...]] = []
    for message in tick.messages:
        content, source, data = message.content, message.source, message.data
        if (
            content.__class__ is not str
            or source.__class__ is not str
            or data.__class__ is not dict
            or message.role != _ROLE
            or message.kept
        ):
            return None
        said.append((content, source, data) if data else (content, source))
    return said


def _is_bare(said: tuple[Any, ...]) -> bool:
    """Whether it is text alone, which always comes back as it is."""
    return len(said) == 2


def _decode(record: bytes | memoryview) -> Finished:
    short = _decoder.decode(record)
    messages = tuple(
        [Message(said.content, said.data, source=said.source) for said in short.messages]
    )
    return Finished(short.at, short.step, messages, short.fired, took=short.took)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Short)
