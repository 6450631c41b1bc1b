"""Checks that every store makes, with the same messages."""

from __future__ import annotations

from rondel.errors import CallError, WrongState
from rondel.journal.store import Lease, SessionRow


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
