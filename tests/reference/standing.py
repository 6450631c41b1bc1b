"""How a loop stands after its rounds: the best one, the lack of gain, and how a loop ended."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.contract import Contract
from tests.reference.messages import Context, Message, Path

Emitted = dict[str, tuple[Path, list[Message]]]
"""Of every node that ran, its last step: the step's path, what it emitted."""


@dataclass(frozen=True)
class Ending:
    """Why a loop ends, with value and threshold where there is one."""

    reason: str
    value: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Best:
    """The best round so far: what it emitted, and what its end left to the nodes of the loop."""

    round: int
    value: float
    line: tuple[int, ...]
    """The rounds that led to its end, itself included."""
    emitted: Emitted
    contexts: dict[str, Context]


@dataclass
class Standing:
    """What one entry of a loop knows of its rounds."""

    best: Best | None = None
    reference: float | None = None
    """The value that patience measures gains from."""
    without_gain: int = 0

    def drop(self, value: float | None) -> float | None:
        """How far a value is below the best of the rounds before."""
        return None if self.best is None or value is None else self.best.value - value

    def is_better(self, value: float | None) -> bool:
        """Whether a round of this value becomes the best."""
        return value is not None and (self.best is None or value > self.best.value)

    def stagnates(self, contract: Contract, value: float | None) -> float | None:
        """Count a round; where patience runs out with it, what it gained."""
        if contract.patience is None or value is None:
            return None
        if self.reference is None or (
            value >= self.reference + contract.min_delta and value > self.reference
        ):
            self.reference, self.without_gain = value, 0
            return None
        self.without_gain += 1
        return value - self.reference if self.without_gain >= contract.patience else None
