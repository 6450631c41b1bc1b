"""A process that appends to several sessions and says what it was told is durable.

    python -m tests.fault.journal.driver DATABASE DURABILITY SESSIONS TICKS

It takes up where the database, a file or an address, left off. Every line on its standard output
is `ID N`: tick N of that session is durable, as far as the store said. The lines go out
unbuffered, before anything else.
"""

from __future__ import annotations

import asyncio
import os
import sys

from rondel.journal.store import Store
from rondel.sessions.stores import Durability, open_store
from rondel.testing.journal_suite import done, row, tick


async def run(store: Store, name: str, count: int) -> None:
    """Append what is missing of the session."""
    if store.session(name) is None:
        await done(store.create(row(name), "driver", 60))
    elif not store.acquire(name, "driver", 60).granted:
        raise SystemExit(f"somebody else drives {name}")
    for n in range(len(store.read(name, 0)), count):
        await done(store.append(name, tick(n, name), status=f"step {n}" if n % 7 == 0 else None))
        os.write(1, f"{name} {n}\n".encode())
        if n % 3 == len(name) % 3:
            await asyncio.sleep(0)


async def main(database: str, durability: Durability, sessions: int, count: int) -> None:
    """All sessions, side by side."""
    store = open_store(database, durability)
    await asyncio.gather(*(run(store, f"s{n}", count) for n in range(sessions)))
    store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
