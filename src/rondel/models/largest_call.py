"""The most that one call of a listed model can take: what fits into its context."""

from __future__ import annotations

from rondel.graph.promises import Calls
from rondel.models.prices import usd

NOT_BOUNDED = Calls(1, None, None)


def largest_call(model: str, prices: str, max_tokens: int | None, *, free: bool) -> Calls:
    """One call: its tokens, in and out, fill the context at most; None for models not listed."""
    window = _context_window(model, prices)
    if window is None:
        return Calls(1, None, 0.0) if free else NOT_BOUNDED
    answer = min(max_tokens or window, window)
    cost = 0.0 if free else usd(model, window - answer, answer, provider=prices)
    return Calls(1, window, cost if free or cost > 0 else None)


def _context_window(model: str, prices: str) -> int | None:
    if not model or not prices:
        return None
    from genai_prices import Usage, calc_price

    try:
        listed = calc_price(Usage(input_tokens=1), model_ref=model, provider_id=prices)
    except LookupError:
        return None
    return listed.model.context_window
