"""The working memory of a session's group: what is promoted into it, and what is recalled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rondel.engine.message import Message
from rondel.errors import CallError
from rondel.graph.spec import MemorySpec
from rondel.journal.store import Group, MemoryEntry, Promotion, Store

GROUP_ID = "group_id"


def group_of(session: str, inputs: Mapping[str, Any]) -> Group:
    """The group that a session's inputs name; without a name it is a group of its own.

    Names are compared as they are, character for character; a number counts as its text.
    """
    given = inputs.get(GROUP_ID)
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = str(given)
    if isinstance(given, str) and given.strip():
        return Group(given)
    return Group(session, own=True)


def confidence_in(data: Mapping[str, Any]) -> float | None:
    """The confidence in a message's data, if it is a number."""
    given = data.get("confidence")
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return None if math.isnan(given) else float(given)


class WorkingMemory:
    """A store's working memory under the rules of one graph."""

    def __init__(self, store: Store, rules: MemorySpec) -> None:
        self._store = store
        self._rules = rules

    def promote(
        self,
        session: str,
        inputs: Mapping[str, Any],
        address: str,
        node_id: str,
        messages: Sequence[Message],
        confidence: float | None = None,
    ) -> list[MemoryEntry]:
        """Put what a step emitted into its session's group, without messages below the confidence.

        This replaces the step's earlier entries.
        """
        group = group_of(session, inputs)
        now = self._store.now()
        made = [
            MemoryEntry(
                group=group,
                session=session,
                address=address,
                number=number,
                node_id=node_id,
                content=msgspec.to_builtins(message.content),
                data=msgspec.to_builtins(message.data),
                confidence=confidence_in(message.data) if confidence is None else confidence,
                created_at=now,
            )
            for number, message in enumerate(messages)
        ]
        promotion = Promotion(group, session, address, list(filter(self._is_sure, made)))
        return self._store.remember(promotion, now - self._rules.max_age, self._rules.size)

    def recall(self, session: str, inputs: Mapping[str, Any], now: float) -> list[MemoryEntry]:
        """What the session's group remembers, newest first."""
        rules = self._rules
        group = group_of(session, inputs)
        return self._store.recall(group, now - rules.max_age, rules.size, rules.min_confidence)

    def demand_sure(self, confidence: float | None) -> None:
        """Raise if a message of this confidence would be left out."""
        least = self._rules.min_confidence
        if confidence is not None and confidence < least:
            raise CallError(
                f"a confidence of {confidence:g} is not enough: working memory takes {least:g} and "
                "more; give a higher one, or lower min_confidence in the graph's memory section"
            )

    def _is_sure(self, entry: MemoryEntry) -> bool:
        return entry.confidence is None or entry.confidence >= self._rules.min_confidence
