"""Why loops end: the words that the outside sees."""

from __future__ import annotations

EXIT_EDGE = "exit_edge"
TARGET_REACHED = "score_threshold_reached"
CONDITION_MET = "condition_met"
MAX_ROUNDS = "max_rounds_reached"
STAGNATED = "stagnated"
REGRESSED = "regressed"
BUDGET_EXHAUSTED = "budget_exhausted"
NO_RETRIGGER = "no_retrigger"
BREAKER_TRIPPED = "breaker_tripped"
CANCELLED = "cancelled"
FAILED = "failed"
