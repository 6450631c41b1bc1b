"""Ticks as bytes: one compact JSON object a record, readable with any tool.

A record of format 1 is the JSON itself, so its first byte is `{`. Every later format begins
with a byte below 0x20 that is its number; JSON never begins so. A new field with a default is
no new format; a change after which an older version would fold wrongly is one. Format 2 is in
`compact`; archives and all that leaves a database are format 1.

A tick that would come back as anything else is refused when it is written, while its step is
known. The only exception are tuples, which come back as lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from rondel.engine.ticks import AnyTick
from rondel.errors import JournalCorrupt, JournalNewer, Unstorable

FORMAT = 2
"""The newest format of records that this version reads."""

_OPEN_BRACE = 0x7B
_FIRST_PRINTABLE = 0x20

_HINTS = {
    "set": "store a sorted list",
    "frozenset": "store a sorted list",
    "bytes": "store text, base64 for instance",
    "bytearray": "store text, base64 for instance",
    "datetime": "store its isoformat()",
    "date": "store its isoformat()",
    "time": "store its isoformat()",
    "timedelta": "store its total_seconds()",
    "Decimal": "store a float, or its str()",
    "UUID": "store its str()",
    "Path": "store its str()",
    "PosixPath": "store its str()",
}
_PLAIN = "store plain JSON: text, numbers, true, false, null, lists and objects with text keys"


def encode(tick: AnyTick) -> bytes:
    """The record of a tick; raises if it would not come back unchanged."""
    return _encoded(tick, _decoder, lambda: _name(tick))


def decode(record: bytes) -> AnyTick:
    """The tick of a record."""
    first = record[0] if record else 0
    if first == _OPEN_BRACE:
        try:
            return _decoder.decode(record)
        except msgspec.ValidationError as error:
            raise _unreadable(record, error) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JournalCorrupt(f"a record of the journal is damaged: {error}") from error
    if FORMAT < first < _FIRST_PRINTABLE:
        raise JournalNewer(
            f"a record has format {first} and this version of Rondel reads up to {FORMAT}; "
            "a newer version wrote it, use that one"
        )
    raise JournalCorrupt("a record of the journal is damaged: it does not begin as one")


def encode_value(value: Any, what: str) -> bytes:
    """Plain data as JSON; `what` names it in a refusal."""
    return _encoded(value, _plain_decoder, lambda: what)


def _encoded(value: Any, decoder: msgspec.json.Decoder[Any], name: Callable[[], str]) -> bytes:
    """The value as JSON; raises Unstorable if it would not come back unchanged."""
    try:
        encoded = _encoder.encode(value)
        if decoder.decode(encoded) == value:
            return encoded
        complaint = _complaint(value, "")
    except msgspec.ValidationError as error:
        complaint = f"has a field of the wrong type: {error}"
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        complaint = _complaint_or(error, value)
    if complaint is None:
        return encoded
    raise Unstorable(f"{name()} {complaint}")


def decode_value(encoded: bytes) -> Any:
    """The plain data that was encoded."""
    try:
        return msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalCorrupt(f"a value of the journal is damaged: {error}") from error


def _unwrap(value: Any) -> Any:
    """A subclass of str, int or float as the plain type: numpy's floats, for example."""
    for plain in (str, int, float):
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(type(value).__name__)


_encoder = msgspec.json.Encoder(enc_hook=_unwrap)
_decoder: msgspec.json.Decoder[AnyTick] = msgspec.json.Decoder(AnyTick)
_plain_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


# What is wrong with a tick


def _name(tick: AnyTick) -> str:
    step = getattr(tick, "step", None)
    if step is None:
        return f"the record of {type(tick).__name__.lower()!r}"
    for message in getattr(tick, "messages", ()):
        if message.source:
            return f"step {step} (node {message.source!r})"
    return f"step {step}"


def _complaint_or(error: Exception, value: Any) -> str:
    if isinstance(error, RecursionError):
        return "holds data nested too deep for a journal, or data that contains itself"
    return _complaint(value, "") or f"cannot be stored: {error}"


def _complaint(value: Any, path: str) -> str | None:
    """What JSON cannot hold in a value, or None."""
    match value:
        case None | bool() | int():
            return None
        case str():
            return _text_complaint(value, path)
        case float():
            if math.isfinite(value):
                return None
            return f"has {value} at {path or 'its top'}, which JSON cannot hold; store null or text"
        case dict():
            return _dict_complaint(value, path)
        case list() | tuple():
            found = (_complaint(item, f"{path}[{i}]") for i, item in enumerate(value))
            return next((complaint for complaint in found if complaint), None)
        case msgspec.UnsetType():
            return None
        case msgspec.Struct() if type(value).__module__.startswith("rondel.engine."):
            return _struct_complaint(value, path)
    name = type(value).__name__
    hint = _HINTS.get(name, _PLAIN)
    return f"has a {name} at {path or 'its top'}, which a journal cannot hold; {hint}"


def _text_complaint(value: str, path: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return f"has text at {path or 'its top'} that is not valid Unicode ({error.reason})"
    return None


def _dict_complaint(value: dict[Any, Any], path: str) -> str | None:
    for key, item in value.items():
        if not isinstance(key, str):
            name = type(key).__name__
            where = path or "its top"
            return f"has the {name} {key!r} as a key at {where}, where JSON has text; use str()"
        complaint = _text_complaint(key, path) or _complaint(item, f"{path}.{key}".lstrip("."))
        if complaint:
            return complaint
    return None


def _struct_complaint(value: msgspec.Struct, path: str) -> str | None:
    for field in value.__struct_fields__:
        inner = getattr(value, field)
        if field == "altered":
            inner = {str(edge): messages for edge, messages in inner.items()}
        complaint = _complaint(inner, f"{path}.{field}".lstrip("."))
        if complaint:
            return complaint
    return None


def _unreadable(record: bytes, error: msgspec.ValidationError) -> JournalCorrupt | JournalNewer:
    kind = _kind(record)
    if kind is not None and kind not in _KINDS:
        return JournalNewer(
            f"a record is of kind {kind!r}, which this version of Rondel does not know; "
            "a newer version wrote it, use that one"
        )
    return JournalCorrupt(f"a record of the journal is damaged: {error}")


def _kind(record: bytes) -> str | None:
    try:
        plain = msgspec.json.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    kind = plain.get("t")
    return kind if isinstance(kind, str) else None


_KINDS = frozenset(str(struct.__struct_config__.tag) for struct in AnyTick.__args__)
