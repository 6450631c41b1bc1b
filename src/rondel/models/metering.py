"""The usage of a call: the most that it can be, and what it was, as reported or counted here."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec

from rondel.engine.protocols import Usage
from rondel.graph.guarantees import Calls
from rondel.models.model import ModelAnswer, Request
from rondel.models.prices import Tariff
from rondel.models.tokens import count_input, count_tokens, most_input

MOST_TOKENS = 20_000_000
"""More tokens than any model reads or writes in one call."""


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


def checked(answer: ModelAnswer, request: Request) -> Usage:
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


def said_in(answer: ModelAnswer) -> str:
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


def largest_call(tariff: Tariff, max_tokens: int | None, attempts: int) -> Calls:
    """The most that one answer can use: all attempts, each as long as the model's context."""
    unpriced = () if tariff.is_known else (tariff.model,)
    window = tariff.context_window
    if window is None:
        usd = 0.0 if tariff.free else None
        why = f"nobody lists how long a context {tariff.model!r} reads"
        return Calls(attempts, None, usd, unpriced, why)
    answer = min(max_tokens or window, window)
    usd = tariff.usd(window - answer, answer)
    return Calls(attempts, window, usd, unpriced)


def most_of_call(tariff: Tariff, max_tokens: int | None, request: Request) -> Usage | None:
    """The most that this request can use: its input as counted, its answer as long as allowed."""
    window = tariff.context_window
    given, answer = most_input(request), max_tokens or window
    if given is None:
        given = window
    if given is None or answer is None:
        return None
    usd = tariff.usd(given, answer)
    return Usage(tariff.model, given, answer, inf if usd is None else usd)
