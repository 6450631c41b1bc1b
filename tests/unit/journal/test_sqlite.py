"""What is particular to the store in a SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rondel.errors import CallError, JournalError, LeaseLost
from rondel.journal.sqlite import rows, ticks
from rondel.journal.sqlite.batch import ENDS, WHERE_IT_ENDS
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.sqlite.writer import SqliteWriter
from rondel.testing.journal_suite import done, in_loop, row, tick
from tests.counting import calls_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a" / "b" / "journal.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def count(path: Path, table: str) -> int:
    with sqlite3.connect(path) as db:
        found: int = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    db.close()
    return found


def test_the_file_and_its_folders_are_for_their_owner_only(path: Path, store: SqliteStore) -> None:
    store.create(row("a"))
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_only_the_database_is_left_after_closing(path: Path) -> None:
    store = SqliteStore(path)
    store.create(row("a"))
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["journal.db"]


def test_odd_names_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20 ü.db"
    SqliteStore(path).close()
    assert path.exists()


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(CallError, match="full, normal, off"):
        SqliteStore(path, "maximal")


def test_without_a_loop_an_append_is_durable_on_return(store: SqliteStore) -> None:
    assert store.create(row("a")) is None
    assert store.append("a", tick(0)) is None
    assert store.read("a", 0) == [tick(0)]


@in_loop
async def test_a_lone_session_commits_where_it_appends(store: SqliteStore) -> None:
    await done(store.create(row("a")))
    await done(store.append("a", tick(0)))
    assert [store.append("a", tick(n)) for n in range(1, 20)] == [None] * 19
    assert store.read("a", 0) == [tick(n) for n in range(20)]


class Counted(SqliteWriter):
    """A writer that counts its transactions."""

    batches: list[int]

    def _finish(self, batch: list[object]) -> None:  # type: ignore[override]
        self.__dict__.setdefault("batches", []).append(len(batch))
        super()._finish(batch)  # type: ignore[arg-type]


@pytest.mark.parametrize("slow", [0.001, 0.0], ids=["at the end of the turn", "in the thread"])
@in_loop
async def test_sessions_share_commits(
    path: Path, slow: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.journal.sqlite.store.SqliteWriter", Counted)
    monkeypatch.setattr("rondel.journal.sqlite.writer.SLOW", slow or -1.0)
    store = SqliteStore(path)
    writer = store._writer
    assert isinstance(writer, Counted)

    async def run(name: str) -> None:
        for n in range(10):
            await done(store.append(name, tick(n, name)))

    names = [f"s{n}" for n in range(100)]
    for wait in [store.create(row(name)) for name in names]:
        await done(wait)
    writer.batches = []
    await asyncio.gather(*map(run, names))
    assert sum(writer.batches) == 1000
    assert len(writer.batches) < 200
    for name in names:
        assert store.read(name, 0) == [tick(n, name) for n in range(10)]
    store.close()


@in_loop
async def test_a_thousand_sessions_append_at_once_and_every_journal_is_whole(
    path: Path, store: SqliteStore
) -> None:
    async def run(name: str, pauses: int) -> None:
        await done(store.create(row(name), "me", 60))
        for n in range(10):
            await done(store.append(name, tick(n, name)))
            for _ in range(pauses):
                await asyncio.sleep(0)

    names = [f"s{n}" for n in range(1000)]
    await asyncio.gather(*(run(name, n % 4) for n, name in enumerate(names)))
    for name in names:
        assert store.read(name, 0) == [tick(n, name) for n in range(10)]
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        doubles = db.execute("SELECT 1 FROM tick GROUP BY session, n HAVING count(*) > 1")
        assert doubles.fetchone() is None
    db.close()


def test_threads_with_and_without_loops_write_side_by_side(store: SqliteStore) -> None:
    names = [f"t{n}" for n in range(6)]
    for name in names:
        store.create(row(name))

    def plainly(name: str) -> None:
        for n in range(100):
            store.append(name, tick(n, name))

    def in_a_loop(name: str) -> None:
        async def run() -> None:
            for n in range(100):
                await done(store.append(name, tick(n, name)))

        asyncio.run(run())

    threads = [
        threading.Thread(target=in_a_loop if n % 2 else plainly, args=(name,))
        for n, name in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        assert store.read(name, 0) == [tick(n, name) for n in range(100)]


def test_a_loop_that_is_gone_takes_nothing_with_it(store: SqliteStore) -> None:
    store.create(row("a"))
    store.create(row("b"))

    async def leave() -> None:
        for name in ("a", "b", "a"):
            store.append(name, tick(0, name))

    asyncio.run(leave())
    asyncio.run(leave())
    store.append("b", tick(2))
    assert len(store.read("a", 0)) == 4
    assert len(store.read("b", 0)) == 3


def test_sessions_of_one_graph_share_its_text(path: Path) -> None:
    store = SqliteStore(path)
    for n in range(10):
        store.create(row(f"s{n}", document={"graph": {"id": "x"}}))
    store.create(row("other", document={"graph": {"id": "y"}}))
    first, second = store.sessions().rows[1:3]
    assert first.document == second.document == {"graph": {"id": "x"}}
    store.delete("other")
    store.close()
    assert count(path, "graph") == 1


def test_deleting_leaves_nothing_behind(path: Path) -> None:
    store = SqliteStore(path)
    for name in ("a", "b"):
        store.create(row(name))
    for n in range(300):
        store.append("a" if n % 3 else "b", tick(n))
    store.delete("a")
    assert len(store.read("b", 0)) == 100
    store.append("b", tick(300))
    store.delete("b")
    store.close()
    for table in ("session", "head", "tick", "letter", "snapshot", "graph"):
        assert count(path, table) == 0, table


def test_packing_gives_the_space_of_what_was_deleted_back(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    for name in ("a", "b"):
        store.create(row(name))
        store.extend(name, [tick(n, "x" * 500) for n in range(2000)])
    assert store.pack()
    full = path.stat().st_size
    store.delete("a")
    assert path.stat().st_size == full
    assert store.pack()
    assert path.stat().st_size < 0.6 * full
    assert path.with_name(path.name + "-wal").stat().st_size == 0
    assert other.read("b", 0) == [tick(n, "x" * 500) for n in range(2000)]
    other.append("b", tick(2000))
    assert len(store.read("b", 0)) == 2001
    store.close()
    other.close()


def test_packing_is_put_off_while_somebody_reads(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    store.create(row("a"))
    with other._readers.snapshot() as db:
        db.execute("SELECT count(*) FROM session").fetchone()
        store.append("a", tick(0))
        assert not store.pack()
    assert store.pack()
    assert store.read("a", 0) == [tick(0)]
    store.close()
    other.close()


def test_a_key_is_never_given_twice(store: SqliteStore) -> None:
    other = SqliteStore(store.path)
    store.create(row("a"))
    store.append("a", tick(0))
    other.delete("a")
    other.create(row("b"))
    other.append("b", tick(0))
    with pytest.raises(JournalError, match="was deleted"):
        store.append("a", tick(1))
    assert other.read("b", 0) == [tick(0)]
    other.close()


def test_bytes_for_each_tick_stay_the_same(path: Path) -> None:
    sizes = []
    for rounds in (2_000, 4_000, 8_000):
        file = path.with_name(f"{rounds}.db")
        store = SqliteStore(file, "off")
        store.create(row("a"))
        store.extend("a", [tick(n) for n in range(rounds)])
        store.close()
        sizes.append(file.stat().st_size / rounds)
    assert sizes[2] < sizes[0]
    record = 112
    assert sizes[2] < 1.3 * record


def test_the_log_is_moved_into_the_file_now_and_then(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.journal.sqlite.log.CHECKPOINT", 100)
    store = SqliteStore(path, "off")
    store.create(row("a"))
    for n in range(3000):
        store.append("a", tick(n))
        if n % 100 == 0:
            time.sleep(0.001)
    log = path.with_name(path.name + "-wal")
    assert log.stat().st_size < 1500 * 4096
    assert path.stat().st_size > 50 * 4096
    assert store.read("a", 0) == [tick(n) for n in range(3000)]
    store.close()


def test_where_commits_wait_for_the_disk_the_log_stays_short(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.journal.sqlite.log.CHECKPOINT_OF_FULL", 20)
    store = SqliteStore(path, "full")
    store.create(row("a"))
    log = path.with_name(path.name + "-wal")
    began = log.stat().st_size
    for n in range(300):
        store.append("a", tick(n))
        time.sleep(0.0005)
    assert log.stat().st_size - began < 150 * 1024
    store.close()


@in_loop
async def test_a_brisk_session_keeps_nobody_from_emptying_the_log(
    path: Path, store: SqliteStore
) -> None:
    await done(store.create(row("a"), "me", 60))
    for n in range(50):
        await done(store.append("a", tick(n)))
    other = sqlite3.connect(path)
    async with asyncio.timeout(20):
        while True:
            _, pages, moved = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages == moved:
                break
            await asyncio.sleep(0.01)
    other.close()


@in_loop
async def test_brisk_ticks_of_two_processes_do_not_hide_from_each_other(path: Path) -> None:
    one, two = SqliteStore(path), SqliteStore(path)
    await done(one.create(row("a"), "me", 60))
    await done(two.create(row("b"), "you", 60))
    for n in range(0, 100, 10):
        for m in range(n, n + 10):
            await done(one.append("a", tick(m)))
        for m in range(n, n + 10):
            await done(two.append("b", tick(m)))
    for store in (one, two):
        for name in ("a", "b"):
            assert store.read(name, 0) == [tick(n) for n in range(100)]
        store.close()


@in_loop
async def test_a_lease_taken_between_brisk_ticks_is_noticed(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    await done(store.create(row("a"), "me", -1.0))
    for n in range(20):
        await done(store.append("a", tick(n)))
    assert other.acquire("a", "you", 60).granted
    with pytest.raises(LeaseLost, match="you"):
        await done(store.append("a", tick(20)))
    assert len(other.read("a", 0)) == 20
    store.close()
    other.close()


@in_loop
async def test_brisk_ticks_notice_what_others_write(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    await done(store.create(row("a"), "me", 60))
    seen = store.changes()
    for n in range(20):
        await done(store.append("a", tick(n)))
    assert store.changes() == seen
    other.post("a", b"{}")
    assert store.changes() != seen
    store.close()
    other.close()


@in_loop
async def test_who_made_a_session_has_its_lease_without_another_write(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    await done(store.create(row("a"), "me", 60))
    before = other.changes()
    assert store.acquire("a", "me", 60).granted
    assert other.changes() == before
    assert not other.acquire("a", "you", 60).granted
    store.release("a", "me")
    assert other.acquire("a", "you", 60).granted
    store.close()
    other.close()


def test_a_lease_from_the_beginning_is_not_good_for_long(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    store.create(row("a"), "me", 1.0)
    assert store.acquire("a", "me", 60).granted
    held = other.lease("a")
    assert held is not None
    assert held.until > time.time() + 30
    store.close()
    other.close()


def test_a_snapshot_takes_less_than_what_it_holds(path: Path) -> None:
    store = SqliteStore(path)
    store.create(row("a"))
    state = b"a history of words " * 50_000
    store.save_snapshot("a", 0, state)
    assert store.latest_snapshot("a") == (0, state)
    store.close()
    assert path.stat().st_size < len(state) / 5


def test_a_damaged_snapshot_is_empty_and_no_obstacle(path: Path) -> None:
    store = SqliteStore(path)
    store.create(row("a"))
    store.save_snapshot("a", 0, b"state")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE snapshot SET state = x'00'")
    db.close()
    assert store.latest_snapshot("a") == (0, b"")
    store.close()


def test_a_part_of_a_long_session_is_read_without_the_rest(store: SqliteStore) -> None:
    store.create(row("a"))
    store.extend("a", [tick(n) for n in range(20_000)])
    assert store.read("a", 10_000, 10_010) == [tick(n) for n in range(10_000, 10_010)]
    assert store.read("a", 19_995) == [tick(n) for n in range(19_995, 20_000)]
    whole = calls_of(lambda: store.read("a", 0))
    assert calls_of(lambda: store.read("a", 10_000, 10_010)) < whole / 50
    assert calls_of(lambda: store.read("a", 19_995)) < whole / 50


def test_reading_needs_no_turn_with_the_writer(store: SqliteStore) -> None:
    store.create(row("a"))
    store.append("a", tick(0))
    with store._writer._writing:
        assert store.read("a", 0) == [tick(0)]
        assert store.session("a") is not None


def test_two_stores_of_one_process_do_not_disturb_each_others_locks(path: Path) -> None:
    first = SqliteStore(path)
    first.create(row("a"))
    SqliteStore(path).close()
    first.append("a", tick(0))
    # Another process opens and closes the file; it must not think that it was the last one.
    script = f"import sqlite3; db = sqlite3.connect({str(path)!r})\n"
    script += "db.execute('SELECT count(*) FROM tick').fetchone(); db.close()"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert path.with_name(path.name + "-wal").exists()
    first.append("a", tick(1))
    assert first.read("a", 0) == [tick(0), tick(1)]
    first.close()


def test_a_session_is_found_without_looking_at_the_others(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    SqliteStore(path).close()
    queries = {
        "a row": (f"{rows._ROWS} WHERE s.id = ?", ("x",)),
        "its ticks": (ticks._LINEAGE, ("x",)),
        "where they end": (ENDS + WHERE_IT_ENDS, (1,)),
    }
    with closing(sqlite3.connect(path)) as db:
        for name, (query, values) in queries.items():
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", values)]
            looks = [step for step in plan if step.startswith(("SCAN", "MATERIALIZE"))]
            assert [step for step in looks if not step.endswith(" line")] == [], name
