"""Answers of providers in their wire formats, and how each format is framed when it streams.

The answers are in `tests/fixtures/exchanges`; each file names the public pages it follows.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.openai_server import Reply

FOLDER = Path(__file__).parent / "fixtures" / "exchanges"
NAMES = sorted(file.stem for file in FOLDER.glob("*.json"))

TEXT = 7
"""The type of a header whose value is text, in Amazon's event streams."""


def exchange(name: str) -> dict[str, Any]:
    """All that is kept of a provider: `answer`, `call`, `stream`, and the pages it `follows`."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def whole(name: str, which: str = "answer") -> Reply:
    """An answer in one piece."""
    return Reply(body=exchange(name)[which])


def streamed(name: str) -> Reply:
    """The answer as it streams."""
    events = exchange(name)["stream"]
    if name == "bedrock":
        kind = "application/vnd.amazon.eventstream"
        return Reply(raw=b"".join(map(_framed, events)), headers={"Content-Type": kind})
    return Reply(raw=_server_sent(events), headers={"Content-Type": "text/event-stream"})


def _server_sent(events: Sequence[dict[str, Any]]) -> bytes:
    """Server-sent events; those that have a type name it."""
    lines = []
    for event in events:
        named = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{named}data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def _framed(event: dict[str, Any]) -> bytes:
    """One message of an Amazon event stream: lengths, headers, payload, and two checksums."""
    ((kind, content),) = event.items()
    payload = json.dumps(content).encode()
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    lengths = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + struct.pack("!I", crc32(lengths)) + headers + payload
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    said = value.encode()
    return bytes([len(name)]) + name.encode() + struct.pack("!BH", TEXT, len(said)) + said
