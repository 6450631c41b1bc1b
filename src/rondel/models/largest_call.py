"""The most that a call of a real model can use: any call, or one whose request is known."""

from __future__ import annotations

from math import inf

from rondel.engine.protocols import Usage
from rondel.graph.guarantees import Calls
from rondel.models.model import Request
from rondel.models.prices import Tariff
from rondel.models.tokens import most_input


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
