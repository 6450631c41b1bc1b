"""The versions of a graph: the distinct copies that its sessions keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec
import yaml

from rondel.graph.moments import to_microsecond
from rondel.journal.store import SessionRow

LETTERS = 12


class Version(msgspec.Struct, frozen=True):
    """One version: its text, and the sessions that ran on it."""

    version: str
    text: str
    current: bool
    """Whether it is the version of the stored file."""
    sessions: int
    statuses: dict[str, int]
    first_used: str | None
    last_used: str | None


def version_of(document: dict[str, Any], includes: dict[str, Any]) -> str:
    """The name of a version; equal documents have the same name, however they are written."""
    encoded = msgspec.json.encode([document, includes], order="deterministic")
    return blake2b(encoded, digest_size=LETTERS // 2).hexdigest()


def versions_in(
    rows: Iterable[SessionRow], current: tuple[dict[str, Any], dict[str, Any]] | None
) -> list[Version]:
    """The versions that some sessions of one graph ran on, and the stored one; newest first."""
    documents: dict[str, dict[str, Any]] = {}
    by_version: dict[str, list[SessionRow]] = {}
    stored = None if current is None else version_of(*current)
    if current is not None and stored is not None:
        documents[stored], by_version[stored] = current[0], []
    for row in rows:
        name = version_of(row.document, row.includes)
        documents.setdefault(name, row.document)
        by_version.setdefault(name, []).append(row)
    found = [_version(name, documents[name], by_version[name], stored) for name in by_version]
    return sorted(found, key=lambda one: (one.current, one.last_used or ""), reverse=True)


def _version(
    name: str, document: dict[str, Any], rows: list[SessionRow], stored: str | None
) -> Version:
    times = sorted(row.created_at for row in rows)
    return Version(
        version=name,
        text=yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100),
        current=name == stored,
        sessions=len(rows),
        statuses=dict(Counter(row.status for row in rows)),
        first_used=to_microsecond(times[0]) if times else None,
        last_used=to_microsecond(times[-1]) if times else None,
    )
