"""Any bit of a database that flips is seen, or nothing that anybody reads is different."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec

from rondel import Engine, Graph
from rondel.errors import JournalError
from rondel.journal.sqlite import SqliteStore
from rondel.journal.store import Group, MemoryEntry, Promotion
from rondel.sessions.salvage import whole_verdicts
from tests.e2e import graphs

FLIPS = 400


def fill(path: Path) -> None:
    """A database with something of everything, and empty pages between."""

    async def sessions() -> None:
        async with Engine(path) as engine:
            for _ in range(3):
                await engine.run(Graph.loads(graphs.LOOP), "tea")
            part = await engine.attach(b"\x89PNG and more", name="tea.png")
            asked = await engine.start(
                Graph.loads(graphs.HUMAN), {"task": "write", "attachments": [part]}
            )
            await asked.settled()
            done = await engine.start(Graph.loads(graphs.LOOP), {"task": "y", "group_id": "poets"})
            await done.result()
            fork = await done.fork("Writer[2]")
            await fork.result()
            await engine.attach(b"nobody refers to this")

    asyncio.run(sessions())
    store = SqliteStore(path)
    group = Group("poets")
    entry = MemoryEntry(group, "s", "Writer", 0, "Writer", "a poem", {"score": 1}, 0.9, 120.0)
    store.remember(Promotion(group, "s", "Writer", [entry]), 0.0, 50)
    waiting = store.sessions("waiting").rows[0]
    store.post(waiting.id, b'{"control":"pause"}')
    store.save_snapshot(waiting.id, 2, b"a state " * 50)
    assert store.acquire(waiting.id, "somebody", 1e6).granted
    store.delete(store.sessions("completed").rows[-1].id)
    store.close()


def told(path: Path) -> dict[str, Any]:
    """All that can be read."""
    store = SqliteStore(path)
    try:
        found: dict[str, Any] = {}
        for row in store.sessions().rows:
            lease = store.lease(row.id)
            snapshot = store.latest_snapshot(row.id)
            found[row.id] = (
                msgspec.to_builtins(row),
                msgspec.to_builtins(store.read(row.id, 0)),
                [
                    (letter.number, letter.control, letter.posted_at)
                    for letter in store.letters(row.id)
                ],
                lease and lease.owner,
                snapshot,
                [(digest, store.attachment(digest)) for digest in store.attachments(row.id)],
            )
        for known in store.groups():
            found[repr(known)] = store.recall(known.group, 0.0, 50)
        found["pending"] = store.pending()
        return found
    finally:
        store.close()


def is_seen(path: Path) -> bool:
    """Whether a verification finds something."""
    try:
        store = SqliteStore(path)
    except JournalError:
        return True

    async def verify() -> bool:
        async with Engine(store) as engine:
            found = store.verify()
            verdicts = list(whole_verdicts(engine, found.sessions))
            return bool(found.file) or any(verdict.problems for verdict in verdicts)

    return asyncio.run(verify())


def test_no_flipped_bit_passes_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    fill(path)
    before, sound = told(path), path.read_bytes()
    assert not is_seen(path)
    chance = random.Random(22)
    silent, seen = [], 0
    victim = tmp_path / "victim.db"
    for bit in chance.sample(range(8 * len(sound)), FLIPS):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        for leftover in tmp_path.glob("victim.db*"):
            leftover.unlink()
        victim.write_bytes(damaged)
        if is_seen(victim):
            seen += 1
            continue
        try:
            same = told(victim) == before
        except JournalError:
            same = False
        if not same:
            silent.append(bit)
    assert silent == []
    assert seen > FLIPS / 4
