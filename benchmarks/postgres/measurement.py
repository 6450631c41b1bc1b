"""The same three questions to everyone who keeps sessions in PostgreSQL.

A contender drives a session of so many steps, each of which makes 200 bytes of text and waits for
nothing. A step is durable before the next one begins.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import psycopg

TEXT = "word " * 40

Drive = Callable[[str, int], Awaitable[object]]
"""Drives a new session of that name through so many steps."""

Opened = Callable[[str], AbstractAsyncContextManager[Drive]]
"""Opens a contender on a database."""

PASSES = 5

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
AND c.relname <> 'bare'
"""
_BARE = "INSERT INTO bare (record) VALUES (%s)"


def speak(opened: Opened) -> None:
    """Answer the command line, URL STEPS SESSIONS, with one line of JSON."""
    url, steps, sessions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(asyncio.run(_measure(opened, url, steps, sessions))), flush=True)


async def _measure(opened: Opened, url: str, steps: int, sessions: int) -> dict[str, float]:
    each = max(steps // 50, 5)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TABLE bare (n serial PRIMARY KEY, record bytea)")
        async with opened(url) as drive:
            await drive("warm up", 20)
            bare, lone = [], []
            for turn in range(PASSES):
                began = time.perf_counter()
                for _ in range(steps // PASSES):
                    db.execute(_BARE, (TEXT.encode(),))
                middle = time.perf_counter()
                await drive(f"lone {turn}", steps // PASSES)
                bare.append(middle - began)
                lone.append(time.perf_counter() - middle)
            before = _bytes(db)
            began = time.perf_counter()
            await asyncio.gather(*[drive(f"many {n}", each) for n in range(sessions)])
            took = time.perf_counter() - began
            grown = _bytes(db) - before
    least, most = statistics.median(bare), statistics.median(lone)
    return {
        "bare_ms": 1e3 * least / (steps // PASSES),
        "step_ms": 1e3 * most / (steps // PASSES),
        "times": most / least,
        "steps_per_s": sessions * each / took,
        "bytes_per_step": grown / (sessions * each),
    }


def _bytes(db: psycopg.Connection[tuple[int]]) -> int:
    return (db.execute(_SIZE).fetchone() or (0,))[0]
