"""What tokens cost."""

from __future__ import annotations

SIMULATED = "simulated"
SIMULATED_USD_PER_MILLION = (1.0, 4.0)
"""Input and output price of a simulated model without a name, so that a run shows a cost."""


def usd(model: str, input_tokens: int, output_tokens: int) -> float:
    """The price of one call; 0 for a model that nobody lists."""
    if not model or not (input_tokens or output_tokens):
        return 0.0
    if model == SIMULATED:
        per_input, per_output = SIMULATED_USD_PER_MILLION
        return (input_tokens * per_input + output_tokens * per_output) / 1e6
    return _listed(model, input_tokens, output_tokens)


def _listed(model: str, input_tokens: int, output_tokens: int) -> float:
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(calc_price(usage, model_ref=model).total_price)
    except LookupError:
        return 0.0
