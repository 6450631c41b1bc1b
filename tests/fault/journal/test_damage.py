"""Any bit of a database that flips is seen, or nothing that anybody reads is different."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rondel import Engine, Graph
from rondel.errors import JournalCorrupt, JournalError
from rondel.journal.sqlite import log_damage
from rondel.journal.sqlite.database import PAGE
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Group, MemoryEntry, Promotion
from rondel.sessions.salvage import with_fold_problems
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
            findings = list(with_fold_problems(engine, found.sessions))
            return bool(found.file) or any(finding.problems for finding in findings)

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


def crashed(path: Path, folder: Path) -> Path:
    """The file and its log as they are while a process is writing, which is gone then."""
    copy = folder / "crashed.db"
    store = SqliteStore(path)
    try:
        row = store.sessions("waiting").rows[0]
        for number in range(12):
            store.post(row.id, f'{{"control":"pause","by":"{number}"}}'.encode())
            store.save_snapshot(row.id, 2, b"another state " * 50)
        for end in ("", "-wal"):
            shutil.copyfile(f"{path}{end}", f"{copy}{end}")
    finally:
        store.close()
    with closing(sqlite3.connect(f"file:{copy}?immutable=1", uri=True)) as db:
        assert db.execute("SELECT process FROM opening").fetchall()
    return copy


def test_no_flipped_bit_of_a_log_passes_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But in its last commit, which looks like one that was never made."""
    monkeypatch.setattr(log_damage, "is_alive", lambda _: False)
    monkeypatch.setattr(log_damage, "AGAIN", 0.0)
    fill(tmp_path / "journal.db")
    copy = crashed(tmp_path / "journal.db", tmp_path)
    log = Path(f"{copy}-wal").read_bytes()
    victim = tmp_path / "victim.db"

    def restore(content: bytes) -> None:
        for leftover in tmp_path.glob("victim.db*"):
            leftover.unlink()
        shutil.copyfile(copy, victim)
        Path(f"{victim}-wal").write_bytes(content)

    restore(log)
    before = told(victim)
    page = 24 + PAGE
    own = [at for at in range(32, len(log), page) if log[at + 8 : at + 16] == log[16:24]]
    assert len(own) > 20
    chance = random.Random(23)
    silent = []
    for bit in chance.sample(range(8 * own[-1]), FLIPS // 2):
        damaged = bytearray(log)
        damaged[bit // 8] ^= 1 << bit % 8
        restore(bytes(damaged))
        with pytest.raises(JournalCorrupt, match="its log is damaged"):
            SqliteStore(victim)
        if Path(f"{victim}-wal").read_bytes() != damaged:
            silent.append(bit)
    assert silent == []
    restore(log)
    assert told(victim) == before


def test_what_a_crash_leaves_of_a_log_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_damage, "is_alive", lambda _: False)
    fill(tmp_path / "journal.db")
    copy = crashed(tmp_path / "journal.db", tmp_path)
    log = Path(f"{copy}-wal").read_bytes()
    chance = random.Random(24)
    for length in chance.sample(range(len(log)), 60):
        Path(f"{copy}-wal").write_bytes(log[:length])
        assert log_damage.log_damage(copy) is None
        Path(f"{copy}-wal").write_bytes(log[:length] + bytes(len(log) - length))
        assert log_damage.log_damage(copy) is None
