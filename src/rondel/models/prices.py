"""What tokens cost."""

from __future__ import annotations

SIMULATED = "simulated"
SIMULATED_USD_PER_MILLION = (1.0, 4.0)
"""Input and output price of a simulated model without a name, so that a run shows a cost."""


def usd(
    model: str,
    input_tokens: int,
    output_tokens: int,
    *,
    provider: str | None = None,
    cache_read: int = 0,
    cache_write: int = 0,
) -> float:
    """The price of one call; 0 for a model that nobody lists.

    Without `provider`, whoever lists the model sets the price. Tokens read from or written to the
    provider's cache are part of the input and have prices of their own.
    """
    if not model or not (input_tokens or output_tokens):
        return 0.0
    if model == SIMULATED:
        per_input, per_output = SIMULATED_USD_PER_MILLION
        return (input_tokens * per_input + output_tokens * per_output) / 1e6
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cache_read or None,
        cache_write_tokens=cache_write or None,
    )
    try:
        return float(calc_price(usage, model_ref=model, provider_id=provider).total_price)
    except LookupError:
        return 0.0
