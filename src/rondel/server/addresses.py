"""Checks addresses in graphs and webhooks: private networks are refused unless allowed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from rondel.errors import CallError
from rondel.models.real import PROVIDERS
from rondel.sessions.graph import Graph

Resolve = Callable[[str, int], Iterable[str]]

EMBEDDING = (IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
"""Where an IPv6 address ends with the IPv4 address that it leads to."""

KNOWN = frozenset(
    (parts.hostname, parts.port)
    for parts in (urlsplit(provider.address) for provider in PROVIDERS)
    if parts.port is not None
)
"""Providers on this machine, which a graph reaches by their names: Ollama."""


class PrivateAddress(OSError):
    """A name that leads into a private network."""


def is_private(address: str) -> bool:
    """Whether an IP address is anything but one of the public network."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    return any(not each.is_global or each.is_multicast for each in (found, *_inside(found)))


def _inside(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that one of IPv6 may lead to."""
    if isinstance(address, IPv6Address):
        if any(address in network for network in EMBEDDING):
            yield IPv4Address(int(address) & 0xFFFFFFFF)
        yield from filter(None, (address.sixtofour, *(address.teredo or ())))


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a name; none if nobody knows it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(info[4][0]) for info in found]


def demand_public(url: str, where: str, resolve: Resolve = resolved) -> None:
    """Raise CallError, without the address, if one leads into a private network."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme not in ("http", "https", "ws", "wss"):
        raise CallError(f"{where}: that is no address of the web, as https://example.org/v1 is")
    if any(is_private(found) for found in resolve(host, port)):
        raise CallError(
            f"{where}: that is in a private network, where this server lets nobody reach; start it "
            "with --allow-private to allow that"
        )


def demand_public_graph(graph: Graph) -> None:
    """The same for every address in a graph."""
    for where, url in addresses_of(graph):
        demand_public(url, where)


def addresses_of(graph: Graph) -> Iterator[tuple[str, str]]:
    """The addresses of models and MCP servers that a graph names, with where."""
    for node in graph.plan().nodes:
        for field, url in _named_in(node.spec.config):
            yield f"node {node.id!r}, {field}", url


def _named_in(config: Any) -> Iterator[tuple[str, str]]:
    """Every `base_url` and `url` in a node's config, however deep."""
    stack = [config]
    while stack:
        value = stack.pop()
        for field in ("base_url", "url"):
            url = getattr(value, field, None)
            if isinstance(url, str):
                yield field, url
        if hasattr(type(value), "model_fields"):
            stack += [getattr(value, name, None) for name in type(value).model_fields]
        elif isinstance(value, dict):
            stack += list(value.values())
        elif isinstance(value, list | tuple):
            stack += list(value)


def guard(loop: asyncio.AbstractEventLoop) -> None:
    """Refuse, in this loop, connections into private networks, whatever led there.

    What was checked when a session started may lead elsewhere when a connection is made: a name
    that was bent since, or an answer that sends the client on to another address.
    """
    connect = loop.sock_connect

    async def guarded(sock: socket.socket, address: Any) -> None:
        is_network = sock.family in (socket.AF_INET, socket.AF_INET6)
        if is_network and tuple(address[:2]) not in KNOWN and is_private(str(address[0])):
            raise PrivateAddress(f"{address[0]} is in a private network, where nobody may reach")
        await connect(sock, address)

    loop.sock_connect = guarded  # type: ignore[method-assign]
