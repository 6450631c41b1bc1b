"""Connections to the server: whoever opens one has so long to send a request."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds in which the head of a request must have arrived."""


class Connection(H11Protocol):
    """Closes itself when no request comes, or its head comes too slowly."""

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        super().connection_made(transport)
        self._mind()

    def data_received(self, data: bytes) -> None:
        """Something was sent."""
        super().data_received(data)
        self._mind()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """It becomes a socket, which has its own patience."""
        self._calm()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._calm()
        super().connection_lost(exc)

    def _mind(self) -> None:
        """Begin to count while a request is waited for; the first byte of one counts as any."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        if not is_waiting or self.transport.get_protocol() is not self:
            self._calm()
        elif self._closing is None and self.timeout_keep_alive_task is None:
            self._closing = self.loop.call_later(PATIENCE, self.transport.close)

    def _calm(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
