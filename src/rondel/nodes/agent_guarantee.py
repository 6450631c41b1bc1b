"""The guarantee of nodes with agents: the most calls, and what the answer may contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rondel.graph.guarantees import Calls, Guarantee, TellsGuarantee
from rondel.models.model import ProviderConfig

NOT_TOLD = "its provider does not tell how much an answer takes"
ANY_ANSWER = Guarantee(
    routes=False, emits=True, passes=False, calls=Calls(1, None, None, why=NOT_TOLD)
)
"""The guarantee of a model of which nothing is known."""


def guarantee_of_agent(
    options: ProviderConfig, schema: Mapping[str, Any] | None, tool_calls: int
) -> Guarantee:
    """The guarantee of an agent, from that of its model.

    Every answer that calls tools is followed by another one; one that does not fit the schema is
    asked for once more, and one that fits may bring data. Each may take all attempts that the
    provider makes.
    """
    guarantee = options.guarantee() if isinstance(options, TellsGuarantee) else ANY_ANSWER
    more = tool_calls + (schema is not None)
    if guarantee.calls.most is not None and more:
        calls = replace(guarantee.calls, most=guarantee.calls.most * (1 + more))
        guarantee = replace(guarantee, calls=calls)
    return (
        guarantee
        if schema is None
        else replace(guarantee, keys=_keys(guarantee, schema), says=None)
    )


def any_of(guarantees: Sequence[Guarantee]) -> Guarantee:
    """The guarantee of an agent whose answer may come from any of several models."""
    first, *others = guarantees
    if not others:
        return first
    keys: frozenset[str] | None = frozenset()
    for guarantee in guarantees:
        keys = None if keys is None or guarantee.keys is None else keys | guarantee.keys
    free = any(guarantee.free_text for guarantee in guarantees)
    calls = total_calls((guarantee, 1) for guarantee in guarantees)
    return replace(first, keys=keys, says=None, free_text=free, calls=calls)


def _keys(guarantee: Guarantee, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The keys of data that fits the schema; unknown unless the schema names them all."""
    if guarantee.keys is None or schema.get("additionalProperties") is not False:
        return None
    return guarantee.keys | frozenset(schema.get("properties") or ())


def total_calls(panel: Iterable[tuple[Guarantee, int]]) -> Calls:
    """The calls of a node, from the guarantee of each agent and the most times it is called."""
    most: int | None = 0
    tokens: int | None = 0
    usd: float | None = 0.0
    unpriced: dict[str, None] = {}
    why = ""
    for guarantee, times in panel:
        calls = guarantee.calls
        most = None if most is None or calls.most is None else most + calls.most * times
        tokens = None if tokens is None or calls.tokens is None else max(tokens, calls.tokens)
        usd = None if usd is None or calls.usd is None else max(usd, calls.usd)
        unpriced |= dict.fromkeys(calls.unpriced)
        why = why or calls.why
    return Calls(most, tokens, usd, tuple(unpriced), why)
