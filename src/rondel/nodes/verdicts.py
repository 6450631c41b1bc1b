"""The verdicts of a debate: whether they are stable, and which one leads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

from rondel.models.model import ModelAnswer

Statement = dict[str, Any]
"""One turn as it is journalled and told: round, agent, content, and a verdict if one is sought."""


@dataclass(frozen=True, slots=True)
class Lead:
    """The verdict that most hold, how probable it is to stay so, and whether all hold it."""

    verdict: Any
    confidence: float
    shared: bool


def verdict_in(answer: ModelAnswer) -> Any:
    """The structured verdict of an answer: in its data, or in JSON inside its text; or None."""
    found = (each["verdict"] for each in answer.objects if each.get("verdict") is not None)
    return next(found, None)


def is_stable(said: Sequence[Statement], speakers: Sequence[str], round: int, rounds: int) -> bool:
    """Whether each speaker's last verdict of a round was the same in that many rounds up to now."""
    for speaker in speakers:
        held = [_held(said, [speaker], at)[0] for at in range(round - rounds + 1, round + 1)]
        if None in held or len(set(held)) > 1:
            return False
    return True


def is_shared(said: Sequence[Statement], speakers: Sequence[str], round: int) -> bool:
    """Whether all speakers had the same verdict at the end of a round."""
    held = _held(said, speakers, round)
    return None not in held and len(set(held)) == 1


def lead_in(said: Sequence[Statement], speakers: Sequence[str], round: int) -> Lead | None:
    """The verdict that leads at the end of a round; None if there is none, or two as strong.

    How probable it is to stay ahead is judged by all rounds: who said something else, or nothing
    that can be read, is counted against it.
    """
    now = _held(said, speakers, round)
    ranked = Counter(each for each in now if each is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    leader = ranked[0][0]
    held = [each for at in range(1, round + 1) for each in _held(said, speakers, at)]
    ahead = held.count(leader)
    verdict = next(
        each["verdict"]
        for each in reversed(said)
        if each.get("verdict") is not None and _canonical(each["verdict"]) == leader
    )
    return Lead(verdict, stays_ahead(ahead, len(held) - ahead), set(now) == {leader})


def stays_ahead(ahead: int, behind: int) -> float:
    """The probability that more than half are for the leader, after so many for and against it.

    A Beta posterior with a uniform prior, above one half: the same as tosses of a coin.
    """
    tosses = ahead + behind + 1
    return sum(comb(tosses, heads) for heads in range(ahead + 1)) / (1 << tosses)


def _held(said: Sequence[Statement], speakers: Sequence[str], round: int) -> list[str | None]:
    """The last verdict of each speaker in a round, to be compared; None where there is none."""
    latest = {each["agent"]: each.get("verdict") for each in said if each["round"] == round}
    held = (latest.get(speaker) for speaker in speakers)
    return [None if verdict is None else _canonical(verdict) for verdict in held]


def _canonical(verdict: Any) -> str:
    """A verdict to compare; in text, case and white space do not matter."""
    if isinstance(verdict, str):
        return "text " + " ".join(verdict.casefold().split())
    return json.dumps(verdict, sort_keys=True)
