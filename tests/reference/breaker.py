"""When a loop is stuck: the rule of the circuit breaker, as naive as it can be written."""

from __future__ import annotations

from collections.abc import Sequence


def locked_after(
    said: Sequence[int], scores: Sequence[float | None], repeats: int, ends: int
) -> int | None:
    """The round after which a loop is locked, or None.

    `said` has, round by round, what its one speaker said, the same number for the same; the loop
    ends by itself after so many rounds.
    """
    for round in range(1, min(len(said), ends - 1) + 1):
        so_far = list(said[:round])
        if (repeated(so_far, repeats) or circled(so_far)) and not risen(scores[:round], repeats):
            return round
    return None


def repeated(said: list[int], repeats: int) -> bool:
    """The same so many times in a row."""
    last = said[-repeats:]
    return len(last) == repeats and last == [last[0]] * repeats


def circled(said: list[int]) -> bool:
    """Two to six outputs, not all the same, three times over."""
    for length in range(2, 7):
        cycle = said[-length:]
        if len(said) >= 3 * length and said[-3 * length :] == cycle * 3 and len(set(cycle)) > 1:
            return True
    return False


def risen(scores: Sequence[float | None], repeats: int) -> bool:
    """Whether one of the last rounds was better than all before it."""
    for place in range(max(0, len(scores) - repeats), len(scores)):
        score, before = scores[place], [s for s in scores[:place] if s is not None]
        if place > 0 and score is not None and all(score > other for other in before):
            return True
    return False
