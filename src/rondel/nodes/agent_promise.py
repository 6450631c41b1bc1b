"""What a node promises in which agents answer: how many calls it makes, and what may come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rondel.graph.promises import Calls, Promise, Promising
from rondel.models.model import ProviderConfig

ANY_ANSWER = Promise(routes=False, emits=True, passes=False, calls=Calls(1, None, None))
"""What a model promises of which nothing is known."""


def promise_of_agent(options: ProviderConfig, schema: Mapping[str, Any] | None = None) -> Promise:
    """What an agent on such a model keeps to; a schema may add data and one call to mend it."""
    promise = options.promise() if isinstance(options, Promising) else ANY_ANSWER
    if schema is None:
        return promise
    most = None if promise.calls.most is None else 2 * promise.calls.most
    closed = schema.get("additionalProperties") is False
    keys = frozenset(schema.get("properties") or ()) if closed else None
    return replace(promise, keys=keys, says=None, calls=replace(promise.calls, most=most))


def calls_of(panel: Iterable[tuple[Promise, int]]) -> Calls:
    """What a node asks that calls each of its agents so often at most."""
    most: int | None = 0
    tokens: int | None = 0
    usd: float | None = 0.0
    for promise, times in panel:
        calls = promise.calls
        most = None if most is None or calls.most is None else most + calls.most * times
        tokens = None if tokens is None or calls.tokens is None else max(tokens, calls.tokens)
        usd = None if usd is None or calls.usd is None else max(usd, calls.usd)
    return Calls(most, tokens, usd)
