"""The usage of a call: as reported if that is plausible, else counted here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from rondel.engine.protocols import Usage
from rondel.models.model import Answer, Request
from rondel.models.tokens import count_input, count_tokens

MOST_TOKENS = 20_000_000
"""More tokens than any model reads or writes in one call."""

Price = Callable[[int, int], float]
"""Gives the price of input and output tokens."""


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens of one call, and whether they were reported."""

    input_tokens: int
    output_tokens: int
    estimated: bool


def counted(reported_in: Any, reported_out: Any, request: Request, said: str) -> Count:
    """The reported figures; implausible ones are replaced by our tokenizer's count.

    Nothing in is never true, and nothing out only if nothing was said.
    """
    taken, given = plausible(reported_in), plausible(reported_out)
    is_sure_in = taken is not None and taken > 0
    is_sure_out = given is not None and (given > 0 or not said)
    return Count(
        taken if is_sure_in and taken is not None else count_input(request),
        given if is_sure_out and given is not None else count_tokens(said),
        not (is_sure_in and is_sure_out),
    )


def checked(answer: Answer, request: Request) -> Usage:
    """The usage of an answer, checked so that it can be summed and stored."""
    usage = answer.usage
    figures = usage.input_tokens, usage.output_tokens
    if all(plausible(figure) is not None for figure in figures) and _is_price(usage.usd):
        return usage
    taken, given = (plausible(figure) for figure in figures)
    return msgspec.structs.replace(
        usage,
        input_tokens=count_input(request) if taken is None else taken,
        output_tokens=count_tokens(said_in(answer)) if given is None else given,
        usd=usage.usd if _is_price(usage.usd) else 0.0,
        estimated=True,
    )


def said_in(answer: Answer) -> str:
    """All text of an answer, tool calls included."""
    called = (f"{call.name} {call.malformed or call.arguments}" for call in answer.calls)
    return "\n".join(filter(None, (answer.content, *called)))


def plausible(figure: Any) -> int | None:
    """The value if it is a plausible number of tokens."""
    if isinstance(figure, bool) or not isinstance(figure, int):
        return None
    return figure if 0 <= figure <= MOST_TOKENS else None


def _is_price(usd: Any) -> bool:
    return isinstance(usd, int | float) and 0 <= usd < float("inf")
