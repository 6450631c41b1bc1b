"""What every store must do with leases and letters, as tests; a part of `JournalSuite`."""

from __future__ import annotations

from rondel.engine.ticks import Paused
from rondel.journal.store import Reply, Store
from rondel.testing.store_rows import HOUR, done, in_loop, row, tick


class LeaseSuite:
    """One driver for each session, and controls from other processes."""

    @in_loop
    async def test_a_lease_is_one_owners_until_it_is_given_back(self, store: Store) -> None:
        await done(store.create(row("a")))
        assert store.lease("a") is None
        assert store.acquire("a", "me", HOUR).granted
        assert store.acquire("a", "me", HOUR).granted
        refused = store.acquire("a", "you", HOUR)
        assert not refused.granted
        assert refused.owner == "me"
        assert refused.until > 0
        assert store.renew("a", "me", HOUR)
        assert not store.renew("a", "you", HOUR)
        store.release("a", "you")
        held = store.lease("a")
        assert held is not None
        assert held.owner == "me"
        store.release("a", "me")
        assert store.lease("a") is None
        assert store.acquire("a", "you", HOUR).granted

    @in_loop
    async def test_a_lease_that_ran_out_can_be_taken(self, store: Store) -> None:
        await done(store.create(row("a")))
        store.acquire("a", "me", -1.0)
        assert store.lease("a") is None
        assert store.acquire("a", "you", HOUR).granted
        assert not store.renew("a", "me", HOUR)

    @in_loop
    async def test_a_session_can_be_created_leased(self, store: Store) -> None:
        await done(store.create(row("a"), "me", HOUR))
        await done(store.append("a", tick(0)))
        assert not store.acquire("a", "you", HOUR).granted

    @in_loop
    async def test_a_lease_says_in_which_state_the_session_is(self, store: Store) -> None:
        await done(store.create(row("a"), "me", HOUR))
        await done(store.create(row("b", status="waiting", due=9.5), "me", HOUR))
        await done(store.create(row("c"), "me", HOUR))
        await done(store.append("c", tick(0), "running"))
        found = [store.acquire(id, "me", HOUR) for id in ("a", "b", "c")]
        assert [(lease.status, lease.due) for lease in found] == [
            ("pending", None),
            ("waiting", 9.5),
            ("running", None),
        ]
        await done(store.set_status("a", "waiting", "question_open", 7.5))
        store.release("a", "me")
        lease = store.acquire("a", "you", HOUR)
        assert (lease.status, lease.due) == ("waiting", 7.5)

    @in_loop
    async def test_appends_not_yet_awaited_are_kept_when_the_lease_is_given_back(
        self, store: Store
    ) -> None:
        await done(store.create(row("a"), "me", HOUR))
        await done(store.create(row("b"), "me", HOUR))
        waits = [store.append(id, tick(n)) for n in range(3) for id in ("a", "b")]
        store.release("a", "me")
        for wait in waits:
            await done(wait)
        assert store.read("a", 0) == [tick(n) for n in range(3)]

    @in_loop
    async def test_letters_wait_in_order_until_a_tick_answers_them(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.create(row("b")))
        first, second = store.post("a", b"pause"), store.post("a", b"stop")
        assert [(letter.number, letter.control) for letter in store.letters("a")] == [
            (first, b"pause"),
            (second, b"stop"),
        ]
        assert store.pending() == {"a"}
        assert store.pending(["b", "nobody"]) == set()
        await done(store.append("a", Paused(1.0), letter=first))
        assert [letter.number for letter in store.letters("a")] == [second]
        store.reply("b", second)
        assert store.pending(["a", "b"]) == {"a"}
        store.reply("a", second)
        assert store.letters("a") == []
        assert store.pending() == set()

    @in_loop
    async def test_the_sender_of_a_letter_learns_what_became_of_it(self, store: Store) -> None:
        await done(store.create(row("a")))
        await done(store.append("a", tick(0)))
        letters = [store.post("a", b"do") for _ in range(3)]
        assert [store.reply_to(letter) for letter in letters] == [None] * 3
        await done(store.append("a", Paused(1.0), letter=letters[0]))
        store.reply("a", letters[1], "no")
        store.reply("a", letters[2])
        replies = [Reply(1), Reply(None, "no"), Reply()]
        assert [store.reply_to(letter) for letter in letters] == replies
        store.reply("a", letters[1], "yes, after all")
        assert store.reply_to(letters[1]) == Reply(None, "no")
