"""Connections to providers, kept while their event loop runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

import httpx2
from pydantic_ai.models import create_async_httpx2_client

from rondel.models.headers import note
from rondel.models.redaction import origin_of

CONNECT_TIMEOUT = 10.0
"""The most seconds to connect."""

M = TypeVar("M")
Query = tuple[tuple[str, str], ...]


class PublicAddresses(logging.Filter):
    """Shortens the addresses that the HTTP library logs to their hosts."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                origin_of(str(value)) if isinstance(value, httpx2.URL) else value
                for value in record.args
            )
        return True


logging.getLogger("httpx2").addFilter(PublicAddresses())


async def _heard(response: httpx2.Response) -> None:
    note(response.headers)


class Connections:
    """The HTTP clients and library models of one event loop; closed with it.

    How many connections there are is the limiters' business: as many are kept as ran at once.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[float, Query], httpx2.AsyncClient] = {}
        self._models: dict[object, Any] = {}

    def client(self, timeout: float, query: Query = ()) -> httpx2.AsyncClient:
        """The HTTP client with a read timeout and a query that it adds to every request."""
        key = timeout, query
        if key not in self._clients:
            phases = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT))
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
            client = create_async_httpx2_client(timeout=phases, limits=limits)
            client.params = httpx2.QueryParams(query)
            client.event_hooks["response"].append(_heard)
            self._clients[key] = client
        return self._clients[key]

    def model(self, owner: object, make: Callable[[Connections], M]) -> M:
        """The owner's library model, made on its first call in this loop."""
        if owner not in self._models:
            self._models[owner] = make(self)
        model: M = self._models[owner]
        return model

    async def close(self) -> None:
        """Close all connections."""
        self._models.clear()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


_of_loop: dict[asyncio.AbstractEventLoop, tuple[Connections, AsyncGenerator[None, None]]] = {}


async def connections() -> Connections:
    """The connections of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _of_loop:
        for gone in [known for known in _of_loop if known.is_closed()]:
            del _of_loop[gone]
        made = Connections()
        lifetime = _lifetime(loop, made)
        _of_loop[loop] = made, lifetime
        await anext(lifetime)
    return _of_loop[loop][0]


async def _lifetime(
    loop: asyncio.AbstractEventLoop, made: Connections
) -> AsyncGenerator[None, None]:
    """Ends when the loop shuts down its asynchronous generators, which it does last."""
    try:
        yield
    finally:
        _of_loop.pop(loop, None)
        await made.close()
