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
