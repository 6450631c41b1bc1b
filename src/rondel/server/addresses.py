"""Checks addresses in graphs and webhooks: private networks are refused unless allowed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from rondel.errors import CallError
from rondel.sessions.agents import configs_of
from rondel.sessions.graph import Graph

Resolve = Callable[[str, int], Iterable[str]]


class PrivateAddress(OSError):
    """A name that leads into a private network."""


def is_private(address: str) -> bool:
    """Whether an IP address is anything but one of the public network."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return not found.is_global or found.is_multicast


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a name; none if nobody knows it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(info[4][0]) for info in found]


def demand_public(url: str, where: str, resolve: Resolve = resolved) -> None:
    """Raise CallError if an address leads into a private network."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
        raise CallError(f"{where}: {url!r} is no address of the web")
    private = [found for found in resolve(parts.hostname, parts.port or 443) if is_private(found)]
    if private:
        raise CallError(
            f"{where}: {parts.hostname!r} is in a private network, where this server lets nobody "
            "reach; start it with --allow-private to allow that"
        )


def demand_public_graph(graph: Graph) -> None:
    """The same for every address in a graph."""
    for where, url in addresses_of(graph):
        demand_public(url, where)


def addresses_of(graph: Graph) -> Iterable[tuple[str, str]]:
    """The addresses of models and tools that a graph names, with where."""
    for node in graph.plan().nodes:
        for config in configs_of(node.spec):
            base = getattr(config, "base_url", None)
            if base:
                yield f"node {node.id!r}, base_url", str(base)
        yield from _servers(node.id, node.spec.config)


def _servers(node: str, config: Any) -> Iterable[tuple[str, str]]:
    """The MCP servers with an address, wherever in a node's config they stand."""
    stack = [config]
    while stack:
        value = stack.pop()
        url = getattr(value, "url", None)
        if isinstance(url, str):
            yield f"node {node!r}, an MCP server", url
        if hasattr(type(value), "model_fields"):
            stack += [getattr(value, name, None) for name in type(value).model_fields]
        elif isinstance(value, dict):
            stack += list(value.values())
        elif isinstance(value, list | tuple):
            stack += list(value)


def guard(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse, in this loop, connections to names that lead into private networks by now.

    What was checked when a session started may lead elsewhere when a connection is made.
    """
    resolve = loop.getaddrinfo

    async def guarded(host: Any, port: Any, **more: Any) -> Any:
        found = await resolve(host, port, **more)
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name and any(is_private(str(info[4][0])) for info in found):
            raise PrivateAddress(f"{name} is in a private network, where nobody may reach")
        return found

    loop.getaddrinfo = guarded  # type: ignore[method-assign]
