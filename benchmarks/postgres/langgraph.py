"""LangGraph: a node with an edge to itself, and its own checkpointer for PostgreSQL.

With `durability="sync"` a step is stored before the next one begins.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from benchmarks.postgres.measurement import TEXT, Drive, speak

CONNECTIONS = 10


class State(TypedDict):
    """How many steps are left, and what the last one wrote."""

    left: int
    text: str


async def write(state: State) -> State:
    return {"left": state["left"] - 1, "text": TEXT}


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Drive]:
    """A compiled graph with a pool of connections."""
    options = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    async with AsyncConnectionPool(url, max_size=CONNECTIONS, kwargs=options) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        drawing = StateGraph(State)
        drawing.add_node("write", write)
        drawing.add_edge(START, "write")
        drawing.add_conditional_edges("write", lambda state: "write" if state["left"] else END)
        graph = drawing.compile(checkpointer=saver)

        async def drive(name: str, steps: int) -> object:
            config = {"configurable": {"thread_id": name}, "recursion_limit": 2 * steps + 10}
            return await graph.ainvoke({"left": steps, "text": ""}, config, durability="sync")

        yield drive


if __name__ == "__main__":
    speak(opened)
