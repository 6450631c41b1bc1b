"""The store in PostgreSQL: it passes every suite, and what is particular to it."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from rondel import Engine, Graph
from rondel.errors import CallError, JournalNewer, JournalUnwritable, LeaseLost
from rondel.journal.postgres import batch, writer
from rondel.journal.postgres.database import PostgresDatabase
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.store import Store
from rondel.testing.journal_suite import HOUR, done, in_loop, row, tick
from rondel.testing.shared_journal_suite import SharedJournalSuite
from tests import postgres

SHORT = 1.0


class _Postgres(SharedJournalSuite):
    durability = "normal"

    @pytest.fixture(autouse=True)
    def _place(self, database: str) -> None:
        self.database = database

    def open_store(self) -> Store:
        return PostgresStore(self.database, self.durability)


class TestPostgresNormal(_Postgres):
    pass


class TestPostgresOff(_Postgres):
    durability = "off"


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    store = PostgresStore(database)
    yield store
    store.close()


@pytest.fixture
def other(database: str, store: PostgresStore) -> Iterator[PostgresStore]:
    other = PostgresStore(database)
    yield other
    other.close()


@pytest.mark.parametrize("text", ["a\0b", "\\0", "\\", "组"])
@in_loop
async def test_texts_that_postgresql_has_not_come_back(store: PostgresStore, text: str) -> None:
    await done(store.create(row(text, graph_id=text, inputs={"task": text})))
    assert store.acquire(text, text, HOUR).granted
    await done(store.append(text, tick(0, text), status="failed", reason=text))
    assert store.read(text, 0) == [tick(0, text)]
    (found,) = store.sessions(graph_id=text).rows
    assert (found.id, found.graph_id, found.reason) == (text, text, text)
    held = store.lease(text)
    assert held is not None
    assert held.owner == text
    store.post(text, b"{}")
    assert store.pending([text]) == {text}


@in_loop
async def test_half_a_character_in_a_reason_comes_back(store: PostgresStore) -> None:
    await done(store.create(row("a")))
    await done(store.set_status("a", "failed", "half \ud800 a \\ud800 character"))
    found = store.session("a")
    assert found is not None
    assert found.reason == "half \ud800 a \\ud800 character"


def test_an_address_that_leads_nowhere_is_told_without_its_password() -> None:
    with pytest.raises(JournalUnwritable, match="cannot be reached") as told:
        PostgresStore("postgresql://u:geheim@127.0.0.1:1/x", patience=0.1)
    assert "geheim" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:geheim@heim@host/x",
        "postgresql://u:ge/geheim@host/x",
        "postgresql://u:geheim%zz@host/x",
        "postgresql://u:ge heim geheim@host/x",
        "postgresql://u:geheim",
        "postgresql://u:geheim@host:port/x",
    ],
)
def test_an_address_that_is_none_is_told_without_its_password(address: str) -> None:
    with pytest.raises(CallError, match="one is written postgresql://USER:PASSWORD@HOST") as told:
        PostgresStore(address)
    assert "geheim" not in "".join(traceback.format_exception(told.value))


def test_what_a_server_refuses_is_told_without_its_statement(new_database: str) -> None:
    PostgresStore(new_database).close()
    with psycopg.connect(new_database, autocommit=True) as db:
        db.execute("CREATE ROLE poor")
        try:
            with pytest.raises(JournalUnwritable, match="permission denied for schema rondel\\)"):
                PostgresStore(postgres.as_role(new_database, "poor"))
        finally:
            db.execute("DROP ROLE poor")


def test_a_server_that_takes_no_more_connections_says_so() -> None:
    full = psycopg.OperationalError("FATAL:  sorry, too many clients already")
    told = PostgresDatabase("postgresql://host/x", "normal").explain(full)
    assert "it takes no more connections; end some, or allow it more" in str(told)


def test_a_database_of_a_newer_version_is_left_alone(new_database: str) -> None:
    PostgresStore(new_database).close()
    with psycopg.connect(new_database) as db:
        db.execute("INSERT INTO rondel.migration VALUES (999)")
    with pytest.raises(JournalNewer, match="a newer version wrote it"):
        PostgresStore(new_database)


@in_loop
async def test_many_open_a_new_database_at_once(new_database: str) -> None:
    stores = await asyncio.gather(
        *[asyncio.to_thread(PostgresStore, new_database) for _ in range(6)]
    )
    for opened in stores:
        opened.close()


@in_loop
async def test_sessions_share_round_trips(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = writer.write

    def counted(db: object, batch: list[object], *rest: object) -> None:
        sizes.append(len(batch))
        write(db, batch, *rest)  # type: ignore[arg-type]

    names = [f"s{n}" for n in range(50)]
    for wait in [store.create(row(name), "me", HOUR) for name in names]:
        await done(wait)
    monkeypatch.setattr(writer, "write", counted)

    async def run(name: str) -> None:
        for n in range(10):
            await done(store.append(name, tick(n, name)))

    await asyncio.gather(*map(run, names))
    assert sum(sizes) == 500
    assert len(sizes) < 250
    for name in names:
        assert store.read(name, 0) == [tick(n, name) for n in range(10)]


def cut_connections(url: str, database: str) -> None:
    """As a network does that fails: every connection to the database but this one."""
    with psycopg.connect(url) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            (urlsplit(database).path.removeprefix("/"),),
        )


@in_loop
async def test_a_step_is_one_statement(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is asked of the database is asked once a session, or by the clock."""
    execute, asked = psycopg.Connection.execute, Counter[str]()

    def counted(db: Any, query: str, *rest: Any, **more: Any) -> Any:
        asked[str(query)] += 1
        return execute(db, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    async with Engine(database) as engine:
        assert (await engine.run(rounds(100), "x")).status == "completed"
    often = [(query, times) for query, times in asked.items() if times > 40]
    assert [query for query, _ in often] == [batch._STEP]
    assert 95 <= often[0][1] <= 105


@in_loop
async def test_nothing_is_notified_in_the_transaction_of_an_append(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = psycopg.Connection.execute
    appending, notifying, inside = set[int](), set[int](), []

    def seen(db: Any, query: str, *rest: Any, **more: Any) -> Any:
        if "notify" in str(query).lower():
            notifying.add(id(db))
            inside.append(db.info.transaction_status != TransactionStatus.IDLE)
        if query in (batch._STEP, batch._APPEND):
            appending.add(id(db))
        return execute(db, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", seen)
    async with Engine(database) as engine:
        await asyncio.gather(*[engine.run(rounds(20), "x") for _ in range(5)])
    assert appending
    assert notifying
    assert not appending & notifying
    assert not any(inside)
    assert len(inside) < 60  # for five times twenty steps, and more that is written
    with psycopg.connect(database) as db:
        triggers = "SELECT tgname FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'rondel.%'"
        assert db.execute(triggers).fetchall() == []


async def test_recovering_reads_no_session_that_waits(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Graph("asking")
    asking.add("ask", "human", {"description": "good?", "timeout": "1h", "on_timeout": "late"})
    async with Engine(database) as engine:
        for _ in range(3):
            assert (await (await engine.start(asking)).settled()).status == "waiting"
    read: list[str] = []
    for name in ("scan", "read"):
        found = getattr(PostgresStore, name)

        def noted(store: Any, id: str, *rest: Any, _found: Any = found) -> Any:
            read.append(id)
            return _found(store, id, *rest)

        monkeypatch.setattr(PostgresStore, name, noted)
    async with Engine(database) as engine:
        assert await engine.recover() == []
        await asyncio.sleep(0.1)
        assert len(engine.store.due()) == 3
        assert read == []


def rounds(most: int) -> Graph:
    graph = Graph("count", start="write", end="write")

    @graph.node
    async def write(_: Any) -> str:
        return "word"

    graph.edge("write", "write")
    graph.loop("write", max_rounds=most)
    return graph


@in_loop
async def test_connections_that_are_cut_lose_and_double_nothing(
    store: PostgresStore, postgres_url: str, database: str
) -> None:
    names = ("a", "b", "c")
    for name in names:
        await done(store.create(row(name), "me", HOUR))

    async def run(name: str) -> None:
        for n in range(60):
            await done(store.append(name, tick(n, name)))

    running = asyncio.gather(*map(run, names))
    for _ in range(5):
        await asyncio.to_thread(cut_connections, postgres_url, database)
        await asyncio.sleep(0.02)
    await running
    for name in names:
        assert store.read(name, 0) == [tick(n, name) for n in range(60)]
    store.post("a", b"{}")
    await asyncio.to_thread(cut_connections, postgres_url, database)
    assert len(store.letters("a")) == 1
    store.post("a", b"{}")
    assert len(store.letters("a")) == 2


@in_loop
async def test_a_server_that_goes_away_and_comes_back_stops_no_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = await asyncio.to_thread(postgres.PostgresServer)
    store = PostgresStore(postgres.new_database(server.url()))
    try:
        await done(store.create(row("a"), "me", HOUR))
        await done(store.append("a", tick(0)))
        store.changes()
        await asyncio.to_thread(server.stop)
        waits = [store.append("a", tick(n)) for n in range(1, 4)]
        began = time.monotonic()
        await asyncio.sleep(0)
        assert time.monotonic() - began < 1.0
        while not caplog.records:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.start)
        for wait in waits:
            await done(wait)
        while len(caplog.records) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        away, back = caplog.messages
        assert "it cannot be reached; check that it runs" in away
        assert away.endswith("; it is waited for")
        assert "is back after" in back
        assert store.read("a", 0) == [tick(n) for n in range(4)]
    finally:
        store.close()
        server.close()


@in_loop
async def test_all_leases_of_a_driver_hang_on_one_row(
    store: PostgresStore, other: PostgresStore, database: str
) -> None:
    names = [f"s{n}" for n in range(5)]
    for name in names:
        await done(store.create(row(name), "me", SHORT))
        await done(store.append(name, tick(0)))
    assert all(store.renew(name, "me", SHORT) for name in names)
    await asyncio.sleep(1.5 * SHORT)
    for name in names:
        assert not other.acquire(name, "you", HOUR).granted
    with psycopg.connect(database) as db:
        assert db.execute("SELECT count(*) FROM rondel.driver").fetchone() == (1,)
    store.close()
    await asyncio.sleep(SHORT)
    assert other.acquire("s0", "you", HOUR).granted


@in_loop
async def test_a_lease_that_ran_out_is_renewed_only_if_nobody_took_the_session(
    store: PostgresStore, other: PostgresStore
) -> None:
    for name in ("taken", "left"):
        await done(store.create(row(name), "me", -1.0))
    assert other.acquire("taken", "you", HOUR).granted
    other.release("taken", "you")
    assert not store.renew("taken", "me", HOUR)
    assert store.renew("left", "me", HOUR)
    assert not other.acquire("left", "you", HOUR).granted


@in_loop
async def test_a_session_whose_driver_is_gone_is_abandoned_and_a_new_one_is_not(
    store: PostgresStore,
) -> None:
    await done(store.create(row("driven"), "me", HOUR))
    await done(store.create(row("new")))
    await done(store.create(row("died before its first tick"), "gone", -1.0))
    await done(store.create(row("died"), "gone", -1.0))
    await done(store.append("died", tick(0), status="running"))
    await done(store.create(row("waits", status="waiting"), "gone", -1.0))
    assert store.abandoned() == ["died", "died before its first tick"]


@in_loop
async def test_clocks_that_differ_change_no_lease(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(store.create(row("a"), "me", 60.0))
    ahead = time.time() + 600.0
    monkeypatch.setattr(time, "time", lambda: ahead)
    assert not other.acquire("a", "you", 60.0).granted
    assert store.acquire("a", "me", 60.0).granted
    monkeypatch.setattr(time, "time", lambda: ahead - 1200.0)
    assert not other.acquire("a", "you", 60.0).granted


@in_loop
async def test_one_who_lost_a_session_changes_nothing_of_it(
    store: PostgresStore, other: PostgresStore
) -> None:
    await done(store.create(row("a"), "me", -1.0))
    await done(store.append("a", tick(0), status="running"))
    assert other.acquire("a", "you", HOUR).granted
    letter = other.post("a", b"{}")
    for late in (
        lambda: store.set_status("a", "failed"),
        lambda: store.append("a", tick(1), status="failed", letter=letter),
        lambda: store.save_snapshot("a", 1, b"mine"),
    ):
        with pytest.raises(LeaseLost):
            await done(late())
    found = other.session("a")
    assert found is not None
    assert (found.status, found.length) == ("running", 1)
    assert other.latest_snapshot("a") is None
    assert len(other.letters("a")) == 1


def test_an_address_with_another_schemes_name_works_too(database: str) -> None:
    parts = urlsplit(database)
    PostgresStore(urlunsplit(parts._replace(scheme="postgres"))).close()
