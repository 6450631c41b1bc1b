"""The engine: starts sessions and keeps those that are under way in this process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any, Self

from rondel.engine.protocols import Middleware
from rondel.engine.registry import Registry
from rondel.errors import CallError, UnknownSession
from rondel.journal.memory import MemoryJournal
from rondel.sessions.graph import Graph
from rondel.sessions.records import Result
from rondel.sessions.registry import default_registry
from rondel.sessions.session import Session

Inputs = str | dict[str, Any] | None


class Engine:
    """Runs graphs; `db=None` keeps everything in memory."""

    def __init__(
        self,
        db: None = None,
        *,
        registry: Registry | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        if db is not None:
            raise CallError("this version keeps sessions in memory only; use Engine(db=None)")
        self.registry = registry or default_registry()
        self._middleware = tuple(middleware)
        self._journal = MemoryJournal()
        self._sessions: dict[str, Session] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self, graph: Graph, inputs: Inputs = None) -> Session:
        """Start a session of the graph; plain text is `{"task": TEXT}`."""
        session = Session(_new_id(), graph.bind(self.registry, self._middleware), self._journal)
        self._sessions[session.id] = session
        await session.start(as_inputs(inputs))
        return session

    async def run(self, graph: Graph, inputs: Inputs = None) -> Result:
        """Start a session and wait until it is over or needs somebody outside to go on."""
        session = await self.start(graph, inputs)
        return await session.settled()

    def get(self, id: str) -> Session:
        """The session of that id."""
        try:
            return self._sessions[id]
        except KeyError:
            raise UnknownSession(f"there is no session {id!r}") from None

    async def close(self) -> None:
        """Let go of every session."""
        for session in list(self._sessions.values()):
            await session.close()


def run(graph: Graph, inputs: Inputs = None) -> Result:
    """Run a graph in memory and wait for its result: the blocking one-liner."""

    async def main() -> Result:
        async with Engine() as engine:
            return await engine.run(graph, inputs)

    return asyncio.run(main())


def as_inputs(inputs: Inputs) -> dict[str, Any]:
    """Inputs as the JSON object that a session has."""
    if inputs is None:
        return {}
    if isinstance(inputs, str):
        return {"task": inputs}
    if isinstance(inputs, dict):
        return inputs
    name = type(inputs).__name__
    raise CallError(f"inputs must be a text or a JSON object, not {name}")


def _new_id() -> str:
    return secrets.token_hex(8)
