"""How one entry of a loop is doing: its values, its best round, what it has spent."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from rondel.engine.core.checkpoint import Checkpoint, Emission
from rondel.graph.spec import PatienceSpec

NO_EMISSIONS: Final[dict[int, Emission]] = {}
NOTHING_BEGUN: Final[list[int]] = []
"""What every entry begins with, shared by all and never changed."""


@mypyc_attr(acyclic=True)
class Progress:
    """What a loop knows of the rounds of its current entry."""

    __slots__ = (
        "active_at_start",
        "allowance",
        "begun",
        "best_emitted",
        "best_round",
        "best_value",
        "checkpoint",
        "grants",
        "last_emitted",
        "last_value",
        "met",
        "on_limit",
        "reference",
        "scored",
        "stale",
        "tokens",
        "usd",
    )

    def __init__(self, allowance: int, on_limit: str, active_at_start: float) -> None:
        self.allowance = allowance
        """The last round that may be run."""
        self.on_limit = on_limit
        self.grants = 1
        """How many times the budget may be spent."""
        self.active_at_start = active_at_start
        self.tokens = 0
        self.usd = 0.0
        self.scored = False
        """Whether a score was found in any round."""
        self.last_value: float | None = None
        self.best_value: float | None = None
        self.best_round: int | None = None
        self.reference: float | None = None
        """The value that patience measures gains from."""
        self.stale = 0
        """Rounds since the last gain."""
        self.met = False
        """Whether the round just over reached the contract's goal."""
        self.last_emitted = NO_EMISSIONS
        self.best_emitted = NO_EMISSIONS
        self.checkpoint: Checkpoint | None = None
        self.begun = NOTHING_BEGUN
        """How many steps the session had had when each round began."""

    def is_best(self, value: float | None) -> bool:
        """Whether a value is better than all so far; of equal ones the first is the best."""
        return value is not None and (self.best_value is None or value > self.best_value)

    def delta(self, value: float | None) -> float | None:
        """What a value gained over the last one."""
        return None if value is None or self.last_value is None else value - self.last_value

    def close_round(self, round: int, value: float | None, emitted: dict[int, Emission]) -> None:
        """A round is over with this value."""
        self.last_emitted = emitted
        if value is None:
            return
        if self.is_best(value):
            self.best_value, self.best_round, self.best_emitted = value, round, emitted
        self.last_value = value

    def has_stalled(self, value: float | None, patience: PatienceSpec) -> bool:
        """Count a round for patience; True when it has run out."""
        if value is None:
            return False
        reference = self.reference
        if reference is None or (value > reference and value >= reference + patience.min_delta):
            self.reference, self.stale = value, 0
            return False
        self.stale += 1
        return self.stale >= patience.rounds
