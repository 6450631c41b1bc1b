"""What all stores do alike, whatever their sessions are kept in."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from rondel.engine.ticks import AnyTick
from rondel.errors import CallError, LeaseLost, RondelError, WrongState
from rondel.journal.codec import encode_value
from rondel.journal.store import BATCH, Lease, MemoryEntry, Promotion, SessionRow, Store

_QUICK = 1
"""The level of zlib that takes the least time."""


# Refusals


def check_fork(row: SessionRow, parent_length: int) -> None:
    """Raise if the parent does not have the past that the fork wants to share."""
    if row.parent is None:
        if row.parent_length:
            raise CallError(f"session {row.id!r} shares a past but names no parent")
    elif not 0 <= row.parent_length <= parent_length:
        raise CallError(
            f"session {row.id!r} cannot share {row.parent_length} ticks of {row.parent!r}, "
            f"which has {parent_length}"
        )


def check_deletable(id: str, fork: str | None, lease: Lease | None) -> None:
    """Raise if a fork or a driver still needs the session."""
    if fork is not None:
        raise WrongState(f"session {id!r} cannot be deleted: its fork {fork!r} shares its past")
    if lease is not None:
        raise WrongState(f"session {id!r} cannot be deleted: {lease.owner} drives it")


def lease_lost(
    id: str, length: int, owner: str | None, found: tuple[int, str | None] | None
) -> LeaseLost:
    """Why a session of that length and owner takes no writes; `found` is what it has by now."""
    if found is None:
        return LeaseLost(f"session {id!r} was deleted")
    found_length, found_owner = found
    if found_owner is not None and found_owner != owner:
        return LeaseLost(f"session {id!r} is driven by {found_owner} now; acquire it first")
    if found_length != length:
        return LeaseLost(
            f"somebody else wrote to session {id!r}: it has {found_length} ticks where this "
            f"process knew {length}; acquire it and read it again"
        )
    return LeaseLost(f"the lease of session {id!r} was given back; acquire it first")


# Reading


def cursor(created_at: float, order: int) -> str:
    """A text that says where a page of sessions ended."""
    return f"{created_at!r}:{order}"


def parse_cursor(text: str | None) -> tuple[float, int] | None:
    """The place that a cursor names."""
    if text is None:
        return None
    created_at, _, order = text.partition(":")
    try:
        return float(created_at), int(order)
    except ValueError:
        raise CallError(f"{text!r} is not the cursor of a page of sessions") from None


def batches(
    read: Callable[[str, int, int], Sequence[AnyTick]], id: str, start: int
) -> Iterator[Sequence[AnyTick]]:
    """The ticks of a session in batches, for sessions of any length."""
    while batch := read(id, start, start + BATCH):
        yield batch
        if len(batch) < BATCH:
            return
        start += BATCH


def all_rows(store: Store, status: str | None = None) -> Iterator[SessionRow]:
    """The rows of all sessions, or of those with a status, newest first."""
    before: str | None = None
    while True:
        page = store.sessions(status, before=before, limit=BATCH)
        yield from page.rows
        before = page.next
        if before is None:
            return


# Writing


def encoded_row(row: SessionRow) -> tuple[bytes, bytes, bytes, bytes]:
    """A session's graph, the files of it, inputs and labels as JSON; refuses what JSON cannot
    hold."""
    return (
        encode_value(row.document, f"the graph of session {row.id!r}"),
        encode_value(row.includes, f"the files of session {row.id!r}"),
        encode_value(row.inputs, f"the inputs of session {row.id!r}"),
        encode_value(row.labels, f"the labels of session {row.id!r}"),
    )


def graph_digest(document: bytes, includes: bytes) -> bytes:
    """What a graph is known by; sessions of the same graph share it."""
    return sha256(document + b"\n" + includes).digest()


EncodedEntry = tuple[MemoryEntry, bytes, bytes]
"""An entry of working memory, with its content and its data as JSON."""


def encoded_entries(promotion: Promotion) -> list[EncodedEntry]:
    """The entries of a promotion; refuses what JSON cannot hold."""
    what = f"what {promotion.address} of session {promotion.session!r} emitted"
    return [
        (entry, encode_value(entry.content, what), encode_value(entry.data, what))
        for entry in promotion.entries
    ]


def packed(state: bytes) -> bytes:
    """A snapshot as it is stored."""
    return zlib.compress(state, _QUICK)


def unpacked(state: bytes) -> bytes:
    """The snapshot that was stored; empty if it is damaged, since it is only a shortcut."""
    try:
        return zlib.decompress(state)
    except zlib.error:
        return b""


class Awaited(Protocol):
    """A write, and the future of whoever waits for it."""

    future: asyncio.Future[None] | None
    error: RondelError | None


def wake(writes: Sequence[Awaited], here: asyncio.AbstractEventLoop | None = None) -> None:
    """These writes are durable or have their error: all who wait go on, with one call for each
    loop; `here` is the running one."""
    waited: dict[asyncio.AbstractEventLoop, list[Awaited]] = {}
    for write in writes:
        if write.future is not None:
            waited.setdefault(write.future.get_loop(), []).append(write)
    for loop, some in waited.items():
        if loop is here:
            _settle(some)
        else:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, some)


def _settle(writes: list[Awaited]) -> None:
    for write in writes:
        future, error = write.future, write.error
        if future is None or future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
            future.exception()  # marked as seen: the session's next write raises it again


# Verifying


@dataclass(slots=True)
class SessionFindings:
    """The findings about one session."""

    key: int
    id: str
    ticks: int = 0
    """The number of its own ticks, without a shared past."""
    unsealed: int = 0
    """How many of them have no checksum, because an earlier version wrote them."""
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class JournalFindings:
    """The findings about a file or a database and every session in it."""

    file: list[str]
    """Damage that belongs to no session."""
    sessions: list[SessionFindings]
