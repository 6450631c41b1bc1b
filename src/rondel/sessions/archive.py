"""A session as a file: JSON lines, first the session, then every tick as the journal has it.

The attachments of its messages come last, one line each, as base64; a file with such lines has
version 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from rondel.engine.core.fold import apply
from rondel.engine.core.state import SessionState
from rondel.engine.ticks import AnyTick
from rondel.errors import CallError, GraphError, JournalError
from rondel.journal.codec import decode, encode
from rondel.journal.store import SessionRow, Store
from rondel.sessions.deadlines import due_at
from rondel.sessions.graph import Graph

KIND = "session"
VERSIONS = (1, 2)


class Header(msgspec.Struct):
    """The first line."""

    rondel: str
    version: int
    session_id: str
    graph_id: str
    graph: dict[str, Any]
    includes: dict[str, Any]
    inputs: dict[str, Any]
    labels: dict[str, Any]
    created_at: float
    ticks: int
    attachments: int = 0


class Attachment(msgspec.Struct):
    """A line with the bytes of an attachment."""

    sha256: str
    content: bytes


class Archived(msgspec.Struct):
    """A session read from a file: its row, without a parent, and its ticks."""

    row: SessionRow
    ticks: list[AnyTick]
    status: str
    reason: str
    attachments: list[bytes]
    due: float | None
    """Its deadline, if it has one."""


def write_session(store: Store, row: SessionRow, stream: BinaryIO) -> int:
    """Write a session, a shared past included; returns the number of ticks."""
    attached = store.attachments(row.id)
    header = Header(
        KIND,
        VERSIONS[bool(attached)],
        row.id,
        row.graph_id,
        row.document,
        row.includes,
        row.inputs,
        row.labels,
        row.created_at,
        row.length,
        len(attached),
    )
    stream.write(msgspec.json.encode(header) + b"\n")
    left = row.length
    for batch in store.scan(row.id):
        for tick in batch[:left]:
            stream.write(encode(tick) + b"\n")
        left -= len(batch)
        if left <= 0:
            break
    for digest in attached:
        line = Attachment(digest, store.attachment(digest) or b"")
        stream.write(msgspec.json.encode(line) + b"\n")
    stream.flush()
    return row.length


def read_session(file: str, lines: Iterable[bytes]) -> Archived:
    """The session of a file; raises CallError if the file is no archive or incomplete."""
    rest = iter(lines)
    header = _header(file, next(rest, b""))
    numbered = ((number, line) for number, line in enumerate(rest, 2) if line.strip())
    ticks = [_tick(file, *line) for line in islice(numbered, header.ticks)]
    attached = [_attachment(file, *line) for line in numbered]
    if len(ticks) != header.ticks:
        raise CallError(f"{file} is not whole: it has {len(ticks)} of {header.ticks} ticks")
    if len(attached) != header.attachments:
        found = f"{len(attached)} of {header.attachments} attachments"
        raise CallError(f"{file} is not whole: it has {found}")
    row = SessionRow(
        header.session_id,
        header.graph_id,
        header.graph,
        header.includes,
        header.inputs,
        header.labels,
        created_at=header.created_at,
    )
    state = _folded(file, row, ticks)
    due = due_at(state, state.last_at)
    return Archived(row, ticks, state.status, state.reason, attached, due)


def with_id(archived: Archived, id: str) -> Archived:
    """The session under another id."""
    return msgspec.structs.replace(archived, row=msgspec.structs.replace(archived.row, id=id))


def _header(file: str, line: bytes) -> Header:
    try:
        start = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        start = None
    if not isinstance(start, dict) or start.get("rondel") != KIND:
        raise CallError(f"{file} is not a session that `rondel export` wrote")
    version = start.get("version")
    if version not in VERSIONS:
        raise CallError(
            f"{file} has version {version} and this version of Rondel reads {VERSIONS[-1]}; "
            "a newer version wrote it, use that one"
        )
    try:
        return msgspec.json.decode(line, type=Header)
    except msgspec.ValidationError as error:
        raise CallError(f"{file}:1: the session is damaged: {error}") from error


def _tick(file: str, number: int, line: bytes) -> AnyTick:
    try:
        return decode(line.rstrip(b"\r\n"))
    except JournalError as error:
        raise CallError(f"{file}:{number}: {error}") from error


def _attachment(file: str, number: int, line: bytes) -> bytes:
    try:
        found = msgspec.json.decode(line, type=Attachment)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CallError(f"{file}:{number}: the attachment is damaged: {error}") from error
    if sha256(found.content).hexdigest() != found.sha256:
        raise CallError(f"{file}:{number}: the attachment is damaged: it is not what was attached")
    return found.content


def _folded(file: str, row: SessionRow, ticks: list[AnyTick]) -> SessionState:
    """The state that the ticks fold to; folding proves that they fit the graph."""
    try:
        state = SessionState(Graph.outline(row.document, row.includes).plan())
    except (GraphError, AttributeError, KeyError, TypeError) as error:
        raise CallError(f"{file}:1: the session's graph is damaged: {error}") from error
    for number, tick in enumerate(ticks, 2):
        try:
            apply(state, tick)
        except Exception as error:  # the fold trusts its journal; a file may hold anything
            raise CallError(f"{file}:{number}: the tick does not fit the session") from error
    return state
