"""What a node promises in which agents answer: how many calls it makes, and what may come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rondel.graph.promises import Calls, Promise, Promising
from rondel.models.model import ProviderConfig

NOT_TOLD = "its provider does not tell how much an answer takes"
ANY_ANSWER = Promise(
    routes=False, emits=True, passes=False, calls=Calls(1, None, None, why=NOT_TOLD)
)
"""What a model promises of which nothing is known."""


def promise_of_agent(
    options: ProviderConfig, schema: Mapping[str, Any] | None, tool_calls: int
) -> Promise:
    """What an agent on such a model keeps to.

    Every answer that calls tools is followed by another one; one that does not fit the schema is
    asked for once more, and one that fits may bring data. Each may take all attempts that the
    provider makes.
    """
    promise = options.promise() if isinstance(options, Promising) else ANY_ANSWER
    more = tool_calls + (schema is not None)
    if promise.calls.most is not None and more:
        calls = replace(promise.calls, most=promise.calls.most * (1 + more))
        promise = replace(promise, calls=calls)
    return promise if schema is None else replace(promise, keys=_keys(promise, schema), says=None)


def any_of(promises: Sequence[Promise]) -> Promise:
    """What an agent keeps to whose answer may come from any of several models, asked in turn."""
    first, *others = promises
    if not others:
        return first
    keys: frozenset[str] | None = frozenset()
    for promise in promises:
        keys = None if keys is None or promise.keys is None else keys | promise.keys
    free = any(promise.free_text for promise in promises)
    calls = calls_of((promise, 1) for promise in promises)
    return replace(first, keys=keys, says=None, free_text=free, calls=calls)


def _keys(promise: Promise, schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The keys of what fits the schema; any, unless the schema names them all."""
    if promise.keys is None or schema.get("additionalProperties") is not False:
        return None
    return promise.keys | frozenset(schema.get("properties") or ())


def calls_of(panel: Iterable[tuple[Promise, int]]) -> Calls:
    """What a node asks that calls each of its agents so often at most."""
    most: int | None = 0
    tokens: int | None = 0
    usd: float | None = 0.0
    unpriced: dict[str, None] = {}
    why = ""
    for promise, times in panel:
        calls = promise.calls
        most = None if most is None or calls.most is None else most + calls.most * times
        tokens = None if tokens is None or calls.tokens is None else max(tokens, calls.tokens)
        usd = None if usd is None or calls.usd is None else max(usd, calls.usd)
        unpriced |= dict.fromkeys(calls.unpriced)
        why = why or calls.why
    return Calls(most, tokens, usd, tuple(unpriced), why)
