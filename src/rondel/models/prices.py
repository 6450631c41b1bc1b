"""Prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rondel.graph.spec import PriceSpec

SIMULATED = "simulated"
SIMULATED_PRICE = PriceSpec(1.0, 4.0)
"""The price of a simulated model without a name, so that a run shows a cost."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """The prices of one model: those that the graph sets, else those that are listed.

    Without `provider`, whoever lists the model sets the price.
    """

    model: str
    provider: str | None = None
    price: PriceSpec | None = None
    listed: bool = True
    """Whether the price table applies; it does not for models at a local address."""
    free: bool = False
    """Whether the model costs nothing."""

    def usd(
        self, input_tokens: int, output_tokens: int, *, cache_read: int = 0, cache_write: int = 0
    ) -> float | None:
        """The price of one call; None if it is unknown.

        Tokens read from or written to the provider's cache are part of the input and have prices
        of their own.
        """
        price = SIMULATED_PRICE if self.model == SIMULATED else self.price
        if price is not None:
            return _priced(price, input_tokens, output_tokens, cache_read, cache_write)
        if self.free:
            return 0.0
        return self._listed(input_tokens, output_tokens, cache_read, cache_write)

    @property
    def is_known(self) -> bool:
        """Whether calls of the model have a price."""
        return self.usd(1_000_000, 1_000_000) is not None

    @property
    def context_window(self) -> int | None:
        """The most tokens of one call, as listed."""
        found = self._found(1, 0, 0, 0)
        return None if found is None else found.model.context_window

    def _listed(self, *tokens: int) -> float | None:
        if not self.listed:
            return None
        found = self._found(*tokens)
        return None if found is None else float(found.total_price)

    def _found(self, taken: int, given: int, cache_read: int, cache_write: int) -> Any:
        if not self.model or self.provider == "":
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(
            input_tokens=taken,
            output_tokens=given,
            cache_read_tokens=cache_read or None,
            cache_write_tokens=cache_write or None,
        )
        try:
            return calc_price(usage, model_ref=self.model, provider_id=self.provider)
        except LookupError:
            return None


def usd(
    model: str, input_tokens: int, output_tokens: int, *, price: PriceSpec | None = None
) -> float:
    """The price of one call; 0 for a model that nobody lists."""
    if not (input_tokens or output_tokens):
        return 0.0
    return Tariff(model, price=price).usd(input_tokens, output_tokens) or 0.0


def _priced(price: PriceSpec, taken: int, given: int, cache_read: int, cache_write: int) -> float:
    per_read = price.input if price.cache_read is None else price.cache_read
    per_write = price.input if price.cache_write is None else price.cache_write
    plain = max(taken - cache_read - cache_write, 0) * price.input
    cached = cache_read * per_read + cache_write * per_write
    return (plain + cached + given * price.output) / 1e6
