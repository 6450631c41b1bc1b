"""What a loop can come back to: what a round sent on its way out, and where the best one ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rondel.engine.core.transcript import Delivery
from rondel.engine.message import Message

Emission = tuple[tuple[int, ...], int, int, tuple[Message, ...]]
"""What a loop's way out would carry: prefix, round and level of the step that emitted it, and
its messages. A plain tuple, because every round makes some.
"""


class Remembered(NamedTuple):
    """What a node retained, and what waited for it, when a round ended."""

    retained: list[Message]
    length: int
    """How many of them it was then; the list may have grown since."""
    stamps: list[int]
    keeps: bool
    inbox: list[Delivery]
    own: list[tuple[Message, ...]]
    """What it had said in the entry of its loop."""
    own_entry: int


NOTHING = Remembered([], 0, [], False, [], [], 0)


class Checkpoint(NamedTuple):
    """Where the best round ended, so that a later round can start from there."""

    nodes: Mapping[int, Remembered]
    begun: list[int]
