"""The contract of a loop, PRODUCT.md section 4, read into plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEFAULT_MAX_ROUNDS = 100
DEFAULT_SCORE = "data.score"


@dataclass(frozen=True)
class Contract:
    """What a loop promises, with the defaults filled in."""

    max_rounds: int
    exit_on_score: float | None
    score_node: str | None
    """The only node whose score counts; None for any."""
    score_path: tuple[str, ...]
    until: str | None
    patience: int | None
    min_delta: float
    on_stagnation: str
    drop: float | None
    on_regression: str
    tokens: int | None
    on_limit: str
    carry: int | None
    """How many rounds' retained messages go into the next one; None for all."""
    exit: str

    @property
    def has_goal(self) -> bool:
        """Whether it says what the loop is for."""
        return self.exit_on_score is not None or self.until is not None


def read_contract(raw: dict[str, Any]) -> Contract:
    """The contract that a mapping under `graph.loops` describes."""
    patience, regression = raw.get("patience") or {}, raw.get("regression") or {}
    score = raw.get("score", DEFAULT_SCORE)
    place = {"path": score} if isinstance(score, str) else score
    return Contract(
        max_rounds=raw.get("max_rounds") or DEFAULT_MAX_ROUNDS,
        exit_on_score=raw.get("exit_on_score"),
        score_node=place.get("node"),
        score_path=_keys(place.get("path", DEFAULT_SCORE)),
        until=raw.get("until"),
        patience=patience.get("rounds"),
        min_delta=patience.get("min_delta", 0),
        on_stagnation=raw.get("on_stagnation", "exit"),
        drop=regression.get("drop"),
        on_regression=regression.get("action", "warn"),
        tokens=(raw.get("budget") or {}).get("tokens"),
        on_limit=raw.get("on_limit", "best"),
        carry=_rounds_carried(raw.get("carry", "all")),
        exit=raw.get("exit", "round_end"),
    )


def _keys(path: str) -> tuple[str, ...]:
    keys = path.split(".")
    return tuple(keys[1:] if keys[0] == "data" else keys)


def _rounds_carried(carry: str | dict[str, int]) -> int | None:
    if isinstance(carry, dict):
        return carry["window"]
    return 1 if carry == "last" else None
