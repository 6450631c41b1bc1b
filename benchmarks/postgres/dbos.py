"""DBOS: a workflow of so many steps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbos import DBOS, DBOSConfig, SetWorkflowID

from benchmarks.postgres.measurement import TEXT, Drive, speak


@DBOS.step()
async def write() -> str:
    return TEXT


@DBOS.workflow()
async def loop(steps: int) -> str:
    text = ""
    for _ in range(steps):
        text = await write()
    return text


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Drive]:
    """DBOS on that database, without its server for administrators."""
    config: DBOSConfig = {
        "name": "benchmark",
        "system_database_url": url,
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()

    async def drive(name: str, steps: int) -> object:
        with SetWorkflowID(name):
            return await loop(steps)

    try:
        yield drive
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    speak(opened)
