"""Working memory that lives as long as its process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from threading import Lock

from rondel.journal.store import Group, GroupSummary, MemoryEntry, Promotion


class Recollection:
    """The entries of every group, oldest first; any thread may call."""

    def __init__(self) -> None:
        self._groups: dict[Group, list[MemoryEntry]] = {}
        self._ids = count(1)
        self._changing = Lock()

    def remember(self, promotion: Promotion, since: float, size: int) -> list[MemoryEntry]:
        """Make these the step's entries, and drop what is too old or too much."""
        with self._changing:
            known = self._groups.get(promotion.group, [])
            known = [entry for entry in known if entry.created_at >= since]
            before = {entry.number: entry for entry in known if promotion.is_about(entry)}
            taken = [self._taken(entry, before) for entry in promotion.entries]
            others = [entry for entry in known if not promotion.is_about(entry)]
            kept = sorted([*others, *taken], key=lambda entry: entry.id)[-size:]
            self._groups[promotion.group] = kept
            if not kept:
                del self._groups[promotion.group]
        return [entry for entry in kept if promotion.is_about(entry)]

    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        """The group's newest entries, newest first."""
        with self._changing:
            known = list(self._groups.get(group, ()))
        found = [entry for entry in reversed(known) if _counts(entry, since, least)]
        return found[:limit]

    def forget(self, group: Group) -> int:
        """Empty a group; how many entries it had."""
        with self._changing:
            return len(self._groups.pop(group, ()))

    def groups(self) -> list[GroupSummary]:
        """The groups that have entries, the one with the newest entry first."""
        with self._changing:
            known = list(self._groups.values())
        known.sort(key=lambda entries: entries[-1].id, reverse=True)
        return [_summary(entries) for entries in known]

    def _taken(self, entry: MemoryEntry, before: dict[int, MemoryEntry]) -> MemoryEntry:
        """The entry with its id and time: those it had, if it was promoted before."""
        known = before.get(entry.number)
        if known is not None:
            return replace(entry, id=known.id, created_at=known.created_at)
        return replace(entry, id=next(self._ids), created_at=entry.created_at or time.time())


def _counts(entry: MemoryEntry, since: float, least: float) -> bool:
    sure = entry.confidence is None or entry.confidence >= least
    return sure and entry.created_at >= since


def _summary(entries: Sequence[MemoryEntry]) -> GroupSummary:
    return GroupSummary(entries[0].group, len(entries), max(entry.created_at for entry in entries))
