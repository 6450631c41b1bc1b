"""How one entry of a loop ended."""

from __future__ import annotations

import msgspec


class LoopEnd(msgspec.Struct, frozen=True, gc=False):
    """How one entry of a loop ended."""

    loop: str
    address: str
    rounds: int
    reason: str
    value: float | None = None
    threshold: float | None = None
    best_round: int | None = None
    bounded: bool = False
    entries: int = 1
    score: float | None = None
    """That of the last round."""
    target: float | None = None
    """The score that was the goal."""
    note: str = ""
    """What else explains the end, in words."""
