"""What every store must do, as tests: subclass `JournalSuite` and say how to open the store.

class TestMyStore(JournalSuite):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.path = tmp_path / "journal"

    def open_store(self):
        return MyStore(self.path)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator

import pytest

from rondel.engine.message import Message
from rondel.engine.ticks import AnyTick, Finished, Paused, Started
from rondel.errors import CallError, JournalError, UnknownSession, Unstorable, WrongState
from rondel.journal.store import BATCH, Store
from rondel.testing.lease_suite import LeaseSuite
from rondel.testing.memory_suite import MemorySuite
from rondel.testing.store_rows import HOUR, done, in_loop, row, tick

__all__ = ["HOUR", "JournalSuite", "done", "in_loop", "row", "tick"]


class _Sessions:
    """Rows, pages, deletion."""

    @in_loop
    async def test_a_row_comes_back_as_it_was_created(self, store: Store) -> None:
        made = row(
            "a",
            document={"graph": {"id": "评审", "nodes": [{"id": "Writer"}]}},
            includes={"sub.yaml": {"graph": {"id": "sub"}}},
            inputs={"task": "写一首诗 ✍", "n": 3},
            labels={"team": "x"},
            created_at=12.5,
            updated_at=13.5,
        )
        await done(store.create(made))
        assert store.session("a") == made

    @in_loop
    async def test_created_without_a_time_it_is_from_now(self, store: Store) -> None:
        await done(store.create(row("a")))
        found = store.session("a")
        assert found is not None
        assert found.created_at > 0
        assert found.updated_at == found.created_at

    def test_an_unknown_session_is_none_or_an_error(self, store: Store) -> None:
        assert store.session("nobody") is None
        for refused in (
            lambda: store.read("nobody", 0),
            lambda: store.append("nobody", tick(0)),
            lambda: store.acquire("nobody", "me", 1),
            lambda: store.post("nobody", b"{}"),
            lambda: store.delete("nobody"),
        ):
            with pytest.raises(UnknownSession, match="'nobody'"):
                refused()

    @in_loop
    async def test_what_a_writer_appends_is_read_as_it_was(self, store: Store) -> None:
        await done(store.create(row("a")))
        messages = (
            Message("写", source="writer"),
            Message("", {"score": 7, "parts": [{"n": 1}]}, source="critic"),
            Message("x", role="user", source="human", kept=True, own_role=True),
        )
        ends = [Finished(1.5, n, (said,), (n,), took=0.25) for n, said in enumerate(messages)]
        append = store.writer("a")
        for end in ends:
            await done(append(end))
        assert store.read("a", 0) == ends
        assert [tick for batch in store.scan("a", 1) for tick in batch] == ends[1:]

    @in_loop
    async def test_what_cannot_be_stored_is_refused_and_leaves_no_trace(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", Started(1.0, {"task": "x"})))
        message = Message("", {"seen": {1, 2}}, source="w")
        for append in (store.writer("a"), lambda tick: store.append("a", tick)):
            with pytest.raises(Unstorable, match=r"step 1 .*set"):
                append(Finished(2.0, 1, (message,)))
        await done(store.append("a", tick(1)))
        assert len(store.read("a", 0)) == 2

    @in_loop
    async def test_an_id_is_given_once_and_a_second_try_harms_nothing(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0)))
        with pytest.raises(JournalError, match="already"):
            await done(store.create(row("a", graph_id="other")))
        await done(store.append("a", tick(1)))
        assert store.read("a", 0) == [tick(0), tick(1)]

    @in_loop
    async def test_pages_are_newest_first_without_gap_or_repeat(self, store: Store) -> None:
        for n in range(7):
            await done(store.create(row(f"s{n}", created_at=100.0 + n // 2)))
        seen: list[str] = []
        before = None
        while True:
            page = store.sessions(before=before, limit=3)
            seen += [found.id for found in page.rows]
            if page.next is None:
                break
            before = page.next
        assert seen == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]

    @in_loop
    async def test_sessions_are_found_by_status_and_graph(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.create(row("b", graph_id="other")))
        await done(store.set_status("b", "failed", "no_output"))
        assert [found.id for found in store.sessions(status="failed").rows] == ["b"]
        assert [found.id for found in store.sessions(graph_id="review").rows] == ["a"]
        assert not store.sessions(status="failed", graph_id="review").rows
        assert store.statuses() == {"pending": 1, "failed": 1}
        changed = store.session("b")
        assert changed is not None
        assert (changed.status, changed.reason) == ("failed", "no_output")

    def test_a_cursor_that_is_none_is_refused(self, store: Store) -> None:
        with pytest.raises(CallError, match="cursor"):
            store.sessions(before="yesterday")

    @in_loop
    async def test_a_deleted_session_is_gone_and_its_neighbours_are_not(self, store: Store) -> None:
        for id in ("a", "b"):
            await done(store.create(row(id)))
            await done(store.append(id, tick(0)))
        store.post("a", b"{}")
        await done(store.save_snapshot("a", 1, b"state"))
        store.delete("a")
        assert store.session("a") is None
        assert store.pending() == set()
        assert store.read("b", 0) == [tick(0)]
        await done(store.create(row("a")))
        assert store.read("a", 0) == []
        assert store.latest_snapshot("a") is None

    @in_loop
    async def test_what_is_driven_or_shared_is_not_deleted(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.create(row("b", parent="a")))
        with pytest.raises(WrongState, match="'b'"):
            store.delete("a")
        store.acquire("b", "me", HOUR)
        with pytest.raises(WrongState, match="me"):
            store.delete("b")
        store.release("b", "me")
        store.delete("b")
        store.delete("a")


class _Deadlines:
    """When sessions are due."""

    @in_loop
    async def test_what_is_due_is_listed_the_earliest_first(self, store: Store) -> None:
        for id, due in (("b", 20.5), ("c", 1e12), ("a", 10.25), ("never", None)):
            await done(store.create(row(id)))
            await done(store.set_status(id, "waiting", "human_input", due))
        assert [(due.session, due.at) for due in store.due()] == [
            ("a", 10.25),
            ("b", 20.5),
            ("c", 1e12),
        ]
        assert [due.session for due in store.due(2)] == ["a", "b"]
        found = store.session("a")
        assert found is not None
        assert found.due == 10.25
        assert [due.noted for due in store.due(1)] == [found.updated_at]

    @in_loop
    async def test_a_new_status_is_due_anew_or_not_at_all(self, store: Store) -> None:
        await done(store.create(row("a", status="waiting", due=5.0)))
        assert [due.at for due in store.due()] == [5.0]
        await done(store.append("a", tick(0)))
        assert [due.at for due in store.due()] == [5.0]
        await done(store.append("a", tick(1), status="waiting", due=7.0))
        assert [due.at for due in store.due()] == [7.0]
        await done(store.set_status("a", "running"))
        assert store.due() == []
        await done(store.set_status("a", "waiting", due=8.0))
        await done(store.append("a", tick(2), status="completed"))
        assert store.due() == []

    @in_loop
    async def test_what_was_noted_after_a_time_can_be_asked_for(self, store: Store) -> None:
        await done(store.create(row("old", status="waiting", updated_at=100.0, due=5.0)))
        await done(store.create(row("new", status="waiting", updated_at=200.0, due=9.0)))
        assert [due.session for due in store.due(noted_after=150.0)] == ["new"]
        store.delete("new")
        assert [due.session for due in store.due()] == ["old"]


class _Ticks:
    """Appending, reading, forks."""

    @in_loop
    async def test_ticks_come_back_in_order_and_by_range(self, store: Store) -> None:
        await done(store.create(row("a")))
        for n in range(200):
            await done(store.append("a", tick(n)))
        every = [tick(n) for n in range(200)]
        assert store.read("a", 0) == every
        for start, stop in ((0, 1), (63, 65), (64, 128), (5, 5), (199, 200), (130, 500), (9, 3)):
            assert store.read("a", start, stop) == every[start:stop]
        assert store.read("a", 150) == every[150:]
        assert store.read("a", 500) == []
        found = store.session("a")
        assert found is not None
        assert found.length == 200

    @in_loop
    async def test_order_is_kept_without_awaiting(self, store: Store) -> None:
        waits = [store.create(row("a"))]
        waits += [store.append("a", tick(n)) for n in range(50)]
        for wait in reversed(waits):
            await done(wait)
        assert store.read("a", 0) == [tick(n) for n in range(50)]

    @in_loop
    async def test_many_sessions_append_at_once(self, store: Store) -> None:
        async def run(id: str) -> None:
            await done(store.create(row(id)))
            for n in range(5):
                await done(store.append(id, tick(n, id)))
                await asyncio.sleep(0)

        ids = [f"s{n}" for n in range(200)]
        await asyncio.gather(*map(run, ids))
        for id in ids:
            assert store.read(id, 0) == [tick(n, id) for n in range(5)]

    @in_loop
    async def test_a_status_rides_with_a_tick(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0), status="running"))
        await done(store.append("a", Paused(1.0), status="paused", reason="asked"))
        found = store.session("a")
        assert found is not None
        assert (found.status, found.reason, found.length) == ("paused", "asked", 2)

    @in_loop
    async def test_one_who_stops_waiting_stops_nobody_else(self, store: Store) -> None:
        for id in ("a", "b"):
            await done(store.create(row(id)))

        async def run(id: str) -> None:
            await done(store.append(id, tick(0)))

        tasks = [asyncio.ensure_future(run(id)) for id in ("a", "b")]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not tasks[1].cancelled()
        assert store.read("b", 0) == [tick(0)]
        await done(store.append("a", tick(1)))
        assert store.read("a", 0) == [tick(0), tick(1)]

    @in_loop
    async def test_many_ticks_go_in_at_once_and_come_out_in_batches(self, store: Store) -> None:
        await done(store.create(row("a")))
        count = 2 * BATCH + 10
        store.extend("a", (tick(n) for n in range(count)))
        batches = list(store.scan("a", 5))
        assert [found for batch in batches for found in batch] == [tick(n) for n in range(5, count)]
        assert max(map(len, batches)) <= BATCH

    @in_loop
    async def test_a_fork_shares_the_past_and_goes_its_own_way(self, store: Store) -> None:
        await done(store.create(row("a")))
        for n in range(100):
            await done(store.append("a", tick(n)))
        await done(store.create(row("b", parent="a", parent_length=70)))
        await done(store.create(row("c", parent="b", parent_length=65)))
        for id, first in (("a", 100), ("b", 70), ("c", 65)):
            for n in range(first, first + 80):
                await done(store.append(id, tick(n, id)))
        past = [tick(n) for n in range(100)]
        told: dict[str, list[AnyTick]] = {
            "a": [*past, *(tick(n, "a") for n in range(100, 180))],
            "b": [*past[:70], *(tick(n, "b") for n in range(70, 150))],
            "c": [*past[:65], *(tick(n, "c") for n in range(65, 145))],
        }
        for id, every in told.items():
            assert store.read(id, 0) == every
            for start, stop in ((60, 68), (64, 66), (68, 72), (0, 10), (69, None), (90, 140)):
                assert store.read(id, start, stop) == every[start:stop]
            found = store.session(id)
            assert found is not None
            assert found.length == len(every)
        child = store.session("c")
        assert child is not None
        assert (child.parent, child.parent_length) == ("b", 65)

    @in_loop
    async def test_a_fork_shares_only_what_there_is(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0)))
        with pytest.raises(CallError, match="which has 1"):
            await done(store.create(row("b", parent="a", parent_length=2)))
        with pytest.raises(UnknownSession):
            await done(store.create(row("c", parent="nobody")))
        with pytest.raises(CallError, match="no parent"):
            await done(store.create(row("d", parent_length=1)))

    @in_loop
    async def test_a_fork_of_everything_and_of_nothing(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0)))
        await done(store.create(row("all", parent="a", parent_length=1)))
        await done(store.create(row("none", parent="a", parent_length=0)))
        assert store.read("all", 0) == [tick(0)]
        assert store.read("none", 0) == []


class _Snapshots:
    """States kept so that a long session opens fast."""

    @in_loop
    async def test_the_newest_snapshot_that_fits_is_found(self, store: Store) -> None:
        await done(store.create(row("a")))
        store.extend("a", [tick(n) for n in range(40)])
        assert store.latest_snapshot("a") is None
        for n in (10, 30, 20):
            await done(store.save_snapshot("a", n, b"%d" % n))
        assert store.latest_snapshot("a") == (30, b"30")
        assert store.latest_snapshot("a", at_most=29) == (20, b"20")
        assert store.latest_snapshot("a", at_most=9) is None

    @in_loop
    async def test_a_fork_has_the_snapshots_of_its_past(self, store: Store) -> None:
        await done(store.create(row("a")))
        store.extend("a", [tick(n) for n in range(40)])
        for n in (10, 30):
            await done(store.save_snapshot("a", n, b"%d" % n))
        await done(store.create(row("b", parent="a", parent_length=25)))
        assert store.latest_snapshot("b") == (10, b"10")
        await done(store.append("b", tick(25)))
        await done(store.save_snapshot("b", 26, b"own"))
        assert store.latest_snapshot("b") == (26, b"own")
        assert store.latest_snapshot("b", at_most=25) == (10, b"10")


class JournalSuite(_Sessions, _Deadlines, _Ticks, LeaseSuite, _Snapshots, MemorySuite, ABC):
    """All that a store promises to one process."""

    @abstractmethod
    def open_store(self) -> Store:
        """A store; for a shared one, a new connection to the same storage every time."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """The store under test."""
        store = self.open_store()
        yield store
        store.close()
