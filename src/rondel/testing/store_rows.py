"""Rows and ticks for the suites of stores."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

from rondel.engine.message import Message
from rondel.engine.ticks import Finished
from rondel.journal.store import SessionRow
from rondel.journal.store import finish as done

__all__ = ["HOUR", "done", "in_loop", "row", "tick"]

HOUR = 3600.0


def row(id: str, **fields: Any) -> SessionRow:
    """A session of a small graph."""
    given = {"graph_id": "review", "document": {"graph": {"id": "review"}}, **fields}
    return SessionRow(id, **given)


def tick(n: int, content: str = "draft") -> Finished:
    """What step `n` produced."""
    return Finished(1_700_000_000.25 + n, n, (Message(f"{content} {n}", source="writer"),), (0,))


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """An async test as pytest takes it without a plugin."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run
