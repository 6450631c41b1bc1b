"""Rondel for programs without an event loop."""

from __future__ import annotations

import asyncio
import os

from rondel.errors import CallError
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph
from rondel.sessions.inputs import Inputs
from rondel.sessions.records import Result


def run(
    graph: Graph | str | os.PathLike[str],
    inputs: Inputs = None,
    *,
    allow_python: bool = False,
    allow_commands: bool = False,
) -> Result:
    """Run a graph in memory, block until it is over, and return its result."""

    async def main() -> Result:
        async with Engine(
            db=None, allow_python=allow_python, allow_commands=allow_commands
        ) as engine:
            return await engine.run(graph, inputs)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    raise CallError("rondel.run blocks; inside async code write: await engine.run(graph, inputs)")
