"""The MCP servers that an event loop is connected to."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from rondel.tools.server import ServerConfig

if TYPE_CHECKING:
    from rondel.tools.connection import Connection

LIBRARY = "rondel.tools.connection"

_of_loop: dict[asyncio.AbstractEventLoop, dict[object, Connection]] = {}


async def connection_to(server: ServerConfig) -> Connection:
    """The connection to a server; equal configurations share one."""
    if LIBRARY not in sys.modules:  # it takes a second or two to import: not in the event loop
        await asyncio.to_thread(import_module, LIBRARY)
    from rondel.tools.connection import Connection

    loop = asyncio.get_running_loop()
    if loop not in _of_loop:
        for gone in [known for known in _of_loop if known.is_closed()]:
            del _of_loop[gone]
    connections = _of_loop.setdefault(loop, {})
    if server.key not in connections:
        connections[server.key] = Connection(server)
    return connections[server.key]
