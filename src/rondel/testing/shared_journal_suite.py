"""Further tests for a store that outlives its process and serves several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rondel.errors import JournalError, LeaseLost, Unstorable
from rondel.journal.store import Store
from rondel.testing.journal_suite import HOUR, JournalSuite, done, in_loop, row, tick


class SharedJournalSuite(JournalSuite):
    """What a store promises that outlives its process and serves several at once."""

    @pytest.fixture
    def other(self, store: Store) -> Iterator[Store]:
        """A second store on the same storage."""
        other = self.open_store()
        yield other
        other.close()

    @in_loop
    async def test_what_was_durable_is_there_after_reopening(self) -> None:
        store = self.open_store()
        await done(store.create(row("a", inputs={"task": "x"}), "me", HOUR))
        for n in range(5):
            await done(store.append("a", tick(n), status="running"))
        letter = store.post("a", b"stop")
        kept = store.session("a")
        store.close()
        store = self.open_store()
        try:
            assert store.session("a") == kept
            assert store.read("a", 0) == [tick(n) for n in range(5)]
            assert [found.number for found in store.letters("a")] == [letter]
            assert not store.acquire("a", "you", HOUR).granted
            assert store.acquire("a", "me", HOUR).granted
            await done(store.append("a", tick(5)))
            assert store.read("a", 4) == [tick(4), tick(5)]
        finally:
            store.close()

    @in_loop
    async def test_closing_makes_everything_durable(self) -> None:
        store = self.open_store()
        store.create(row("a"))
        store.create(row("b"))
        for n in range(20):
            store.append("a" if n % 2 else "b", tick(n))
        store.close()
        store.close()
        store = self.open_store()
        assert len(store.read("a", 0)) == len(store.read("b", 0)) == 10
        store.close()

    def test_a_closed_store_says_so(self) -> None:
        store = self.open_store()
        store.create(row("a"))
        store.close()
        for refused in (lambda: store.append("a", tick(0)), lambda: store.read("a", 0)):
            with pytest.raises(JournalError, match="closed"):
                refused()

    @in_loop
    async def test_another_process_reads_along(self, store: Store, other: Store) -> None:
        await done(store.create(row("a"), "me", HOUR))
        for n in range(3):
            await done(store.append("a", tick(n)))
            assert other.read("a", n) == [tick(n)]

    @in_loop
    async def test_a_driver_that_overslept_cannot_write(self, store: Store, other: Store) -> None:
        await done(store.create(row("a"), "me", -1.0))
        await done(store.append("a", tick(0)))
        assert other.acquire("a", "you", HOUR).granted
        with pytest.raises(LeaseLost, match="you"):
            await done(store.append("a", tick(1, "mine")))
        await done(other.append("a", tick(1, "yours")))
        with pytest.raises(LeaseLost):
            await done(store.append("a", tick(2, "mine")))
        assert other.read("a", 0) == [tick(0), tick(1, "yours")]
        other.release("a", "you")
        assert other.lease("a") is None
        assert store.acquire("a", "me", HOUR).granted
        await done(store.append("a", tick(2, "mine")))
        assert len(other.read("a", 0)) == 3

    @in_loop
    async def test_two_writers_without_a_lease_never_make_a_double(
        self, store: Store, other: Store
    ) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0)))
        await done(other.append("a", tick(1)))
        with pytest.raises(LeaseLost, match="somebody else wrote"):
            await done(store.append("a", tick(1, "late")))
        assert store.read("a", 0) == [tick(0), tick(1)]

    @in_loop
    async def test_a_loser_does_not_take_others_with_it(self, store: Store, other: Store) -> None:
        for id in ("lost", "fine"):
            await done(store.create(row(id), "me", -1.0))
            await done(store.append(id, tick(0)))
        other.acquire("lost", "you", HOUR)
        waits = [(id, store.append(id, tick(n))) for n in (1, 2) for id in ("lost", "fine")]
        for id, wait in waits:
            if id == "lost":
                with pytest.raises(LeaseLost):
                    await done(wait)
            else:
                await done(wait)
        assert other.read("fine", 0) == [tick(0), tick(1), tick(2)]
        assert other.read("lost", 0) == [tick(0)]

    @in_loop
    async def test_a_letter_from_another_process_is_noticed(
        self, store: Store, other: Store
    ) -> None:
        await done(store.create(row("a"), "me", HOUR))
        before = store.changes()
        await done(store.append("a", tick(0)))
        assert store.changes() == before
        other.post("a", b"stop")
        for _ in range(100):
            if store.changes() != before:
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the letter went unnoticed")
        assert [letter.control for letter in store.letters("a")] == [b"stop"]

    @in_loop
    async def test_inputs_that_cannot_be_stored_are_refused(self, store: Store) -> None:
        with pytest.raises(Unstorable, match=r"inputs of session 'b'.*object"):
            await done(store.create(row("b", inputs={"x": object()})))
